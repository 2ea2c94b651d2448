// Talks to the Service Worker as to any server.
const headers = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
const form = document.querySelector('form')
const status = document.querySelector('[role=status]')

form.addEventListener('submit', async event => {
  event.preventDefault()
  const body = JSON.stringify({ name: form.elements.name.value, categoryId: 1 })
  await request('/v1/pets', { method: 'POST', body })
  form.reset()
  await show()
  // Asks to keep the animals even if the disk is nearly full; some browsers ask the user.
  await navigator.storage.persist()
})

await controlled()
await show()

async function show() {
  const pets = await request('/v1/pets?limit=100')
  const items = pets.map(({ id, name }) => {
    const item = document.createElement('li')
    item.textContent = `${id} ${name}`
    return item
  })
  document.querySelector('ul').replaceChildren(...items)
  status.textContent = `${pets.length} animals`
}

async function request(path, init) {
  const response = await fetch(path, { headers, ...init })
  const answer = await response.json()
  if (response.ok) return answer
  status.textContent = answer.message
  throw new Error(answer.message)
}

/** Resolves once the Service Worker answers this page. */
async function controlled() {
  const { serviceWorker } = navigator
  const changed = new Promise(resolve =>
    serviceWorker.addEventListener('controllerchange', resolve),
  )
  await serviceWorker.register('service-worker.js')
  if (!serviceWorker.controller) await changed
}
