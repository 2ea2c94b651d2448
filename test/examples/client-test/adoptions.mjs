// A small client, as an app would have it: the subject of adoptions.test.mjs.

/** Lists and registers animals. Waits once when the limit is reached. */
export function createAdoptions({ baseUrl, apiKey, fetch = globalThis.fetch, wait = delay }) {
  const authorization = `Bearer ${apiKey}`

  return {
    async available() {
      const response = await send(`${baseUrl}/pets?status=available`, {
        headers: { authorization },
      })
      return response.json()
    },
    async register(animal) {
      const headers = { authorization, 'content-type': 'application/json' }
      const body = JSON.stringify(animal)
      const response = await send(`${baseUrl}/pets`, { method: 'POST', headers, body })
      return (await response.json()).id
    },
  }

  async function send(url, init) {
    let response = await fetch(url, init)
    if (response.status === 429) {
      await wait(Number(response.headers.get('retry-after')) * 1_000)
      response = await fetch(url, init)
    }
    if (response.ok) return response
    throw new Error((await response.json()).message)
  }
}

function delay(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}
