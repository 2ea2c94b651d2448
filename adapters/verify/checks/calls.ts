import { type Int64, isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import type { Call, Check, Reply, Subject } from '../check.js'
import { type Animal, animalsOf, isObject, isStatus, jsonOf } from '../expect.js'
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
export async function allAnimals(subject: Subject): Promise<WholeList> {
  const list = await wholeList(subject)
  if (list.animals.length < 100) return list
  throw new CheckSkipped('the store has more animals than one page shows')
}

interface WholeList {
  readonly reply: Reply
  readonly animals: readonly Animal[]
}

/** The first page, for checks of something else. @throws CheckSkipped where it cannot be read */
export async function wholeList({ send }: Subject): Promise<WholeList> {
  const reply = await send(WHOLE_LIST)
  const animals = await animalsOf(reply).catch(() => undefined)
  if (animals) return { reply, animals }
  throw new CheckSkipped('the list cannot be read, as list.answer or list.limit-maximum reports')
}

/** An id to get: of an animal of this run, or in a store that must not change, of any. */
export async function anyId({ readOnly, sample, once }: Subject): Promise<Int64> {
  const { id } = readOnly
    ? ((await animalsOf(await once(WHOLE_LIST)))[0] ?? {})
    : await sample('available')
  if (isInt64(id)) return id
  throw new CheckSkipped(readOnly ? 'the store has no animals' : 'the created animal has no `id`')
}

/** An animal of each status and one without, with the fields that they must keep. */
export async function variety(
  subject: Subject,
): Promise<readonly { id: Int64; sent: Pick<Animal, 'name' | 'categoryId' | 'status'> }[]> {
  const { categoryId } = subject
  const made = []
  for (const status of PET_STATUSES) {
    const { id, name } = await subject.sample(status)
    made.push({ id, sent: { name, categoryId, status } })
  }
  const { name } = animal(subject, 'without status')
  const reply = await subject.once(post({ name, categoryId }))
  const pet = await jsonOf(reply).catch(() => undefined)
  // Which status it got is up to the service.
  if (reply.status === 201 && isObject(pet) && isStatus(pet['status'])) {
    made.push({ id: pet['id'] as Int64, sent: { name, categoryId, status: pet['status'] } })
  }
  return made.filter(({ id }) => isInt64(id))
}

/** One check for each entry. */
export function each<Entry>(
  entries: Readonly<Record<string, Entry>>,
  check: (name: string, entry: Entry) => Check,
): readonly Check[] {
  return Object.entries(entries).map(([name, entry]) => check(name, entry))
}
