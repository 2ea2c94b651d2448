import { inject } from 'vitest'

/** A store of one's own on the shared server. */
export async function createWorld(begin = {}) {
  const response = await fetch(`${inject('control')}/worlds`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(begin),
  })
  return response.json()
}
