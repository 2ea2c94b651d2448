import { type Int64, isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { PAGE_SIZE, PET_STATUSES, type PetStatus } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Call, Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import {
  type Animal,
  animalsOf,
  isObject,
  isStatus,
  jsonIn,
  listIn,
  memberOf,
} from '../read-reply.js'
import { animal, filtered, post, postCategory, postSample, WHOLE_LIST } from './calls.js'

/** An animal of this run, with the reply that created it. @throws CheckSkipped without one */
export async function sample(subject: Subject, status = subject.status) {
  if (subject.readOnly) throw new CheckSkipped('needs an animal, and the run is read-only')
  const created = await subject.once(postSample(subject, status))
  const pet = jsonIn(created)
  if (!isObject(pet) || created.status >= 300) {
    throw new CheckSkipped('no animal could be created')
  }
  return { created, id: pet['id'] as Int64, name: subject.name(status), status }
}

export async function create(subject: Subject, label: string): Promise<Reply> {
  const reply = await subject.send(post(animal(subject, label)))
  if (reply.status === 201) return reply
  throw new CheckSkipped('no animal could be created')
}

/** Creates animals until the run has this many. @throws CheckSkipped */
export async function fill(subject: Subject, count: number): Promise<void> {
  const created = subject.seen.filter(({ status }) => status === 201).length
  for (let number = created; number < count && !subject.readOnly; number++) {
    await create(subject, 'one of many')
  }
}

type Page = Awaited<ReturnType<typeof pageOf>>

/**
 * Pages that together show all animals of these statuses: the whole list, or else one per status.
 * @throws CheckSkipped if one is full
 */
export async function allPages(
  subject: Subject,
  statuses: readonly PetStatus[],
): Promise<readonly Page[]> {
  const whole = await wholeList(subject)
  if (!isFull(whole)) return [whole]
  const pages = []
  for (const status of statuses) pages.push(await onlyPage(subject, filtered(status)))
  return pages
}

function isFull({ animals }: Page): boolean {
  return animals.length >= PAGE_SIZE.maximum
}

export async function onlyPage(subject: Subject, call: Call): Promise<Page> {
  const page = await pageOf(subject, call)
  if (!isFull(page)) return page
  throw new CheckSkipped('the store has more animals than one page shows')
}

/** The first page, for checks of something else. @throws CheckSkipped if it cannot be read */
export function wholeList(subject: Subject): Promise<Page> {
  return pageOf(subject, WHOLE_LIST)
}

export async function pageOf({ send }: Subject, call: Call) {
  const reply = await send(call)
  const animals = listIn(reply)
  if (animals) return { reply, animals }
  throw new CheckSkipped('the list cannot be read, as list.answer or list.limit reports')
}

export async function expectUnstored(
  subject: Subject,
  name: string,
  statuses: readonly PetStatus[] = PET_STATUSES,
): Promise<void> {
  for (const { reply, animals } of await allPages(subject, statuses)) {
    const isStored = animals.some(pet => pet.name === name)
    expect.that(reply, !isStored, `no animal called ${name}, whose creation was refused`, name)
  }
}

/** Id of an animal of this run, or of any in a store that must not change. */
export async function anyId(subject: Subject): Promise<Int64> {
  const { readOnly, once } = subject
  const { id } = readOnly ? (animalsOf(await once(WHOLE_LIST))[0] ?? {}) : await sample(subject)
  if (isInt64(id)) return id
  throw new CheckSkipped(readOnly ? 'the store has no animals' : 'the created animal has no `id`')
}

const FIELDS = ['name', 'categoryId', 'status'] as const
export type Fields = Pick<Animal, (typeof FIELDS)[number]>

export function expectFields(reply: Reply, pet: Partial<Fields>, sent: Fields): void {
  const wrong = FIELDS.find(field => pet[field] !== sent[field])
  const expected = wrong && `\`${wrong}\` ${sent[wrong]}, as it was created or listed`
  expect.noIssue(reply, expected, toJson(pet))
}

/** An animal per status and one without, with the fields that they must keep. */
export async function variety(subject: Subject): Promise<readonly { id: Int64; sent: Fields }[]> {
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
  for (const digits of ['9007199254740993', '-9007199254740993', '0']) {
    const reply = await subject.once(postCategory(subject, digits, 'int64'))
    if (reply.status === 201) found.push([digits, memberOf(reply, 'id')] as const)
  }
  if (found.length > 0) return found
  throw new CheckSkipped('the server refuses these categories')
}
