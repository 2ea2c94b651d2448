import { type Int64, isInt64 } from '../../../src/lib/int64.js'
import { PET_STATUSES, type PetStatus } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import {
  type Animal,
  animalsOf,
  isObject,
  isStatus,
  jsonIn,
  listIn,
  memberOf,
} from '../read-reply.js'
import { animal, post, postCategory, postSample, WHOLE_LIST } from './calls.js'

/** An animal of this run, with the reply that created it. */
export interface Sample {
  readonly created: Reply
  readonly id: Int64
  readonly name: string
  readonly status: PetStatus
}

/** @throws CheckSkipped if it was not created */
export async function sample(subject: Subject, status: PetStatus): Promise<Sample> {
  if (subject.readOnly) throw new CheckSkipped('needs an animal, and the run is read-only')
  const created = await subject.once(postSample(subject, status))
  const pet = jsonIn(created)
  if (!isObject(pet) || created.status >= 300) {
    throw new CheckSkipped('no animal could be created')
  }
  return { created, id: pet['id'] as Int64, name: subject.name(status), status }
}

/** Creates animals until the run has this many. @throws CheckSkipped */
export async function fill(subject: Subject, count: number): Promise<void> {
  const { readOnly, categoryId, name, send, seen } = subject
  const created = seen.filter(({ status }) => status === 201).length
  for (let number = created; number < count && !readOnly; number++) {
    const { status } = await send(post({ name: name('one of many'), categoryId }))
    if (status !== 201) throw new CheckSkipped('too few animals could be created')
  }
}

/** The animals of the first page, if there are no others. @throws CheckSkipped */
export async function allAnimals(subject: Subject): Promise<WholeList> {
  const list = await wholeList(subject)
  if (list.animals.length < 100) return list
  throw new CheckSkipped('the store has more animals than one page shows')
}

interface WholeList {
  readonly reply: Reply
  readonly animals: readonly Animal[]
}

/** The first page, for checks of something else. @throws CheckSkipped if it cannot be read */
export async function wholeList({ send }: Subject): Promise<WholeList> {
  const reply = await send(WHOLE_LIST)
  const animals = listIn(reply)
  if (animals) return { reply, animals }
  throw new CheckSkipped('the list cannot be read, as list.answer or list.limit-maximum reports')
}

/** Id of an animal of this run, or of any in a store that must not change. */
export async function anyId(subject: Subject): Promise<Int64> {
  const { readOnly, once } = subject
  const { id } = readOnly
    ? (animalsOf(await once(WHOLE_LIST))[0] ?? {})
    : await sample(subject, 'available')
  if (isInt64(id)) return id
  throw new CheckSkipped(readOnly ? 'the store has no animals' : 'the created animal has no `id`')
}

export const FIELDS = ['name', 'categoryId', 'status'] as const

/** An animal per status and one without, with the fields that they must keep. */
export async function variety(
  subject: Subject,
): Promise<readonly { id: Int64; sent: Pick<Animal, (typeof FIELDS)[number]> }[]> {
  const { categoryId } = subject
  const made = []
  for (const status of PET_STATUSES) {
    const { id, name } = await sample(subject, status)
    made.push({ id, sent: { name, categoryId, status } })
  }
  const { name } = animal(subject, 'without status')
  const reply = await subject.once(post({ name, categoryId }))
  const pet = jsonIn(reply)
  // The default status is up to the service.
  if (reply.status === 201 && isObject(pet) && isStatus(pet['status'])) {
    made.push({ id: pet['id'] as Int64, sent: { name, categoryId, status: pet['status'] } })
  }
  return made.filter(({ id }) => isInt64(id))
}

/** Ids of animals whose category a careless server rounds. @throws CheckSkipped */
export async function extremes(subject: Subject): Promise<readonly (readonly [string, unknown])[]> {
  const found = []
  for (const digits of ['9007199254740993', '0']) {
    const reply = await subject.once(postCategory(subject, digits, 'int64'))
    if (reply.status === 201) found.push([digits, memberOf(reply, 'id')] as const)
  }
  if (found.length > 0) return found
  throw new CheckSkipped('the server refuses these categories')
}
