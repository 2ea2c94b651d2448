import { toJson } from '../../../src/lib/json.js'
import type { PetStatus } from '../../../src/pets/specification.js'
import type { Call, Names, Reply, Subject } from '../check-types.js'
import { NO_KEY } from '../credentials.js'

// Checks share calls, so that `once` sends them only once.

/** An id that no service has assigned yet. */
export const ABSENT_ID = '9223372036854775807'

export const LIST: Call = { path: '/pets' }
export const ONE: Call = { path: '/pets?limit=1' }
export const WHOLE_LIST: Call = { path: '/pets?limit=100' }
export const filtered = (status: PetStatus): Call => ({ path: `/pets?limit=100&status=${status}` })
export const ABSENT: Call = { path: `/pets/${ABSENT_ID}` }
export const ANONYMOUS: Call = { ...LIST, as: NO_KEY }
/** Creates nothing on a server that checks bodies. */
export const INVALID: Call = { method: 'POST', path: '/pets', body: '{}' }

export function post(body: unknown, headers: Readonly<Record<string, string>> = {}): Call {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : toJson(body)
  return { method: 'POST', path: '/pets', body: text, headers }
}

/** A complete, valid animal with a recognizable name, so that a check fails for one reason only. */
export function animal({ name, categoryId, status }: Names, label: string) {
  return { name: name(label), categoryId, status }
}

export function postCategory(names: Names, category: string, label: string): Call {
  const { name, status } = animal(names, label)
  return post(`{"name":${toJson(name)},"categoryId":${category},"status":"${status}"}`)
}

/** The animal with this status that the checks of a run share. */
export function postSample(names: Names, status = names.status): Call {
  return post({ ...animal(names, status), status })
}

/** Sends all calls, and waits for all replies: a late one would affect the next check. */
export async function atOnce({ send }: Subject, calls: readonly Call[]): Promise<readonly Reply[]> {
  const sending = calls.map(send)
  await Promise.allSettled(sending)
  return Promise.all(sending)
}
