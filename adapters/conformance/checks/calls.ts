import type { Int64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import type { Call, Check, Reply, Subject } from '../check.js'
import { type Animal, animalsOf } from '../expect.js'
import { CheckSkipped } from '../failure.js'

/** Calls that several checks share, so that `once` sends them only once. */

/** An id that no service has given yet. */
export const ABSENT_ID = '9223372036854775807'

export const LIST: Call = { path: '/pets' }
export const WHOLE_LIST: Call = { path: '/pets?limit=100' }
export const ABSENT: Call = { path: `/pets/${ABSENT_ID}` }
/** Creates nothing, wherever bodies are checked. */
export const INVALID: Call = { method: 'POST', path: '/pets', body: '{}' }

/** `POST /pets` with this text, or with this value as JSON. */
export function post(body: unknown, headers: Readonly<Record<string, string>> = {}): Call {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : toJson(body)
  return { method: 'POST', path: '/pets', body: text, headers }
}

/** A valid animal that everyone recognizes, complete, so that a check breaks for one reason only. */
export function animal({ name, categoryId }: Subject, label: string) {
  return { name: name(label), categoryId, status: 'available' } as const
}

/** `POST /pets` with a category as JSON text. */
export function postCategory(subject: Subject, category: string, label: string): Call {
  const { name, status } = animal(subject, label)
  return post(`{"name":${toJson(name)},"categoryId":${category},"status":"${status}"}`)
}

/** The animals of the first page, if it holds all there are. @throws CheckSkipped */
export async function allAnimals(reply: Reply): Promise<readonly Animal[]> {
  const animals = await animalsOf(reply)
  if (animals.length < 100) return animals
  throw new CheckSkipped('the store has more animals than one page shows')
}

/** An id to get: of an animal of this run, or in a store that must not change, of any. */
export async function anyId({ readOnly, sample, once }: Subject): Promise<Int64> {
  if (!readOnly) return (await sample('available')).id
  const [first] = await animalsOf(await once(WHOLE_LIST))
  if (first) return first.id
  throw new CheckSkipped('the store has no animals')
}

/** One check for each entry. */
export function each<Entry>(
  entries: Readonly<Record<string, Entry>>,
  check: (name: string, entry: Entry) => Check,
): readonly Check[] {
  return Object.entries(entries).map(([name, entry]) => check(name, entry))
}
