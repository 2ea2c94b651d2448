// A client that registers every animal once, although responses get lost: before it sends an animal
// again, it looks whether the server has it. Its tests pass; `explore` shows why that is not enough.

const ATTEMPTS = 5
const TIMEOUT_MS = 10_000

/** `sleep(ms, { signal })` and `fetch` are those of the platform, unless a test has its own. */
export function createShelter({ baseUrl, apiKey, fetch = globalThis.fetch, sleep }) {
  const authorization = `Bearer ${apiKey}`

  return {
    /** @returns the animal as the server has stored it */
    async register(animal) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const known = attempt === 1 ? undefined : await find(animal)
        if (known) return known
        const answer = await send('/pets', {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify(animal),
        })
        if (answer.status === 201) return answer.body
        if (!isTemporary(answer)) throw new Error(answer.body.message)
        await sleep(pauseAfter(answer, attempt))
      }
      throw new Error(`${animal.name} could not be registered`)
    },
  }

  /** The animal, if an earlier attempt has stored it although its response got lost. */
  async function find({ name, categoryId }) {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const answer = await send('/pets?limit=100', { headers: { authorization } })
      if (answer.status === 200) {
        return answer.body.find(pet => pet.name === name && pet.categoryId === categoryId)
      }
      await sleep(pauseAfter(answer, attempt))
    }
    throw new Error(`it is not known whether ${name} is registered`)
  }

  /** The whole response; without one, as it is lost or too late, its status is 0. */
  async function send(path, init) {
    const late = new AbortController()
    const done = new AbortController()
    sleep(TIMEOUT_MS, { signal: done.signal }).then(
      () => late.abort(),
      () => {},
    )
    try {
      const response = await fetch(baseUrl + path, { ...init, signal: late.signal })
      const body = await response.json()
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
    } catch {
      return { status: 0, retryAfter: null, body: undefined }
    } finally {
      done.abort()
    }
  }
}

function isTemporary({ status }) {
  return status === 0 || status === 429 || status >= 500
}

/** Retry-After, or twice as long each time, in ms. */
function pauseAfter({ retryAfter }, attempt) {
  return retryAfter === null ? 1_000 * 2 ** (attempt - 1) : Number(retryAfter) * 1_000
}
