import type { NewPet, Pet } from '../../../src/pets/schema.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import type { Once, PetSnapshot, PetStorage } from '../../../src/ports.js'

export interface StorageFactory {
  /** Creates an empty storage that shares nothing with any other. */
  create(): Promise<PetStorage> | PetStorage
  /** Opens the same pets after a restart; for storages that outlive their process. */
  reopen?(storage: PetStorage): Promise<PetStorage>
  /** Kinds of names that the storage rejects, as it cannot keep them. */
  readonly cannotKeep?: readonly NameKind[]
  /** The storage has `insertOnce`. */
  readonly idempotency?: boolean
}

export type NameKind = keyof typeof UNUSUAL_NAMES

/** The runner's own: `test` of node:test, `it` of vitest, jest or mocha. */
export type Test = (name: string, run: () => Promise<void>) => unknown

/**
 * The contract of `PetStorage`, a test per rule. The ids in front of the names are permanent.
 * @example
 * import { test } from 'node:test'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 * import { storageSuite } from 'animal-adoption-store/storage-suite'
 *
 * storageSuite(test, { create: async () => memoryStorage(), idempotency: true })
 */
export function storageSuite(test: Test, factory: StorageFactory): void {
  const { create, reopen, cannotKeep = [], idempotency = false } = factory
  const kinds = Object.keys(UNUSUAL_NAMES) as NameKind[]
  const kept = kinds.filter(kind => !cannotKeep.includes(kind))
  const names = [...NAMES, ...kept.flatMap(kind => UNUSUAL_NAMES[kind])]
  const cases = idempotency ? { ...CASES, ...ONCE } : CASES
  for (const [name, check] of Object.entries(cases)) {
    test(name, () => named(name, async () => check(await create(), names)))
  }
  for (const kind of cannotKeep) {
    const name = `name.rejected - the storage cannot keep ${kind}, and rejects them`
    test(name, () => named(name, async () => rejectsNames(await create(), UNUSUAL_NAMES[kind])))
  }
  if (!reopen) return
  const reopened = idempotency ? { ...REOPENED, ...REOPENED_ONCE } : REOPENED
  for (const [name, check] of Object.entries(reopened)) {
    test(name, () => named(name, async () => check(await create(), reopen, names)))
  }
}

/** Begins a failure with the broken rule, for runners that print nothing else. */
async function named(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (cause) {
    throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

async function rejectsNames(storage: PetStorage, unkept: readonly string[]): Promise<void> {
  for (const name of unkept) {
    const what = `inserting the name ${show(name)}`
    await rejects(async () => storage.insert({ ...REX, name }), what, ', as cannotKeep says,')
  }
  same(await storage.list({ limit: 100 }), [])
}

type Case = (storage: PetStorage, names: readonly string[]) => Promise<void>

const CASES: Record<string, Case> = {
  async 'insert.answer - returns the pet with its id'(storage) {
    const inserted = await storage.insert({ name: 'Rex', categoryId: 7, status: 'pending' })
    same(inserted, { id: inserted.id, name: 'Rex', categoryId: 7, status: 'pending' })
  },
  async 'insert.found - an inserted pet is found and listed'(storage) {
    const rex = await storage.insert(REX)
    const tom = await storage.insert({ ...REX, name: 'Tom' })
    same(await storage.find(rex.id), rex)
    same(await storage.find(tom.id), tom)
    same(await storage.list({ limit: 100 }), [rex, tom])
  },
  async 'insert.fields - stores only the fields of a pet'(storage) {
    const stray = { ...REX, id: 99, breed: 'beagle' } as NewPet
    const { id, ...stored } = await storage.insert(stray)
    same(stored, REX)
    same(await storage.find(id), { id, ...REX })
  },
  async 'insert.copy - changing the given object later changes no pet'(storage) {
    const given: { name: string; categoryId: number } = { ...REX }
    const inserting = storage.insert(given)
    given.name = 'changed'
    const { id } = await inserting
    given.categoryId = 99
    same(await storage.find(id), { id, ...REX })
  },
  async 'insert.rejected - a rejected insert leaves no trace'(storage) {
    const before = await insertNamed(storage, 'a', 'b')
    const failing: NewPet = {
      get name(): string {
        throw new Error('This pet has no name')
      },
      categoryId: 1,
      status: 'available',
    }
    await rejects(async () => storage.insert(failing))
    same(await storage.list({ limit: 100 }), before)
    same((await storage.dump()).pets, before)
    const { id } = await storage.insert(REX)
    same(await storage.list({ limit: 100, status: 'available' }), [...before, { id, ...REX }])
  },
  async 'insert.concurrent - concurrent inserts get different ids'(storage) {
    const names = Array.from({ length: 200 }, (_, index) => `pet ${index}`)
    const pets = await insertNamed(storage, ...names)
    same(new Set(pets.map(pet => pet.id)).size, 200)
    same(pets.map(pet => pet.name).sort(), names.sort())
    same(
      (await storage.dump()).pets,
      pets.toSorted((a, b) => a.id - b.id),
    )
  },
  async 'id.positive - an id is a positive safe integer'(storage) {
    for (const { id } of await insertNamed(storage, 'a', 'b', 'c')) {
      truth(Number.isSafeInteger(id) && id > 0, `the id ${id} is not a positive safe integer`)
    }
  },
  async 'id.ascending - a later insert has a higher id'(storage) {
    let last = 0
    for (let count = 0; count < 20; count++) {
      const { id } = await storage.insert(REX)
      truth(id > last, `the id ${id} came after ${last}`)
      last = id
    }
  },
  async 'id.never-reused - after a restore, ids continue at the nextId of the snapshot'(storage) {
    await storage.restore({ pets: [{ id: 3, ...REX }], nextId: 50 })
    same((await storage.insert(REX)).id, 50)
    same((await storage.dump()).nextId, 51)
  },
  async 'id.last - when no safe integer is left, an insert is rejected'(storage) {
    const last = Number.MAX_SAFE_INTEGER - 1
    await storage.restore({ pets: [], nextId: last })
    same((await storage.insert(REX)).id, last)
    await rejects(async () => storage.insert(REX))
    same(await storage.dump(), { pets: [{ id: last, ...REX }], nextId: last + 1 })
  },
  async 'find.unknown - an id that was never assigned finds nothing'(storage) {
    const { id } = await storage.insert(REX)
    for (const unknown of [0, -1, id + 1, Number.MAX_SAFE_INTEGER]) {
      same(await storage.find(unknown), undefined)
    }
  },
  async 'find.gap - an id that a snapshot left out finds nothing'(storage) {
    await storage.restore({ pets: [2, 5, 9].map(id => ({ id, ...REX })), nextId: 12 })
    for (const id of [1, 3, 4, 6, 8, 10, 11]) same(await storage.find(id), undefined)
    for (const id of [2, 5, 9]) same(await storage.find(id), { id, ...REX })
  },
  async 'list.empty - an empty storage lists nothing'(storage) {
    same(await storage.list({ limit: 20 }), [])
    for (const status of PET_STATUSES) same(await storage.list({ limit: 20, status }), [])
  },
  async 'list.order - pets are sorted by ascending id'(storage) {
    await storage.restore({ pets: [9, 2, 30, 5].map(id => ({ id, ...REX })), nextId: 31 })
    await insertNamed(storage, 'a', 'b')
    same(idsOf(await storage.list({ limit: 100 })), [2, 5, 9, 30, 31, 32])
    same(idsOf(await storage.list({ limit: 100, status: 'available' })), [2, 5, 9, 30, 31, 32])
  },
  async 'list.limit - the first pets, and no more than asked for'(storage) {
    const pets = await insertNamed(storage, 'a', 'b', 'c', 'd')
    for (const limit of [1, 2, 3, 4, 5, 100]) {
      same(await storage.list({ limit }), pets.slice(0, limit))
    }
    // With `pagination`, a page of 100 asks for one more.
    const many = Array.from({ length: 102 }, (_, at) => ({ id: at + 1, ...REX }))
    await storage.restore({ pets: many, nextId: 103 })
    same((await storage.list({ limit: 101 })).length, 101)
    same((await storage.list({ limit: 101, status: 'available' })).length, 101)
  },
  async 'list.fresh - a page that was not full shows later inserts'(storage) {
    const [first] = await insertNamed(storage, 'a')
    same(await storage.list({ limit: 2 }), [first])
    const [second] = await insertNamed(storage, 'b')
    same(await storage.list({ limit: 2 }), [first, second])
    same(await storage.list({ limit: 2, status: 'available' }), [first, second])
  },
  async 'list.status - only pets with this status'(storage) {
    const pets = await insertOfEachStatus(storage)
    for (const status of PET_STATUSES) {
      const expected = pets.filter(pet => pet.status === status)
      same(await storage.list({ limit: 100, status }), expected)
      same(await storage.list({ limit: 1, status }), expected.slice(0, 1))
    }
  },
  async 'list.no-status - a pet without a status matches no filter'(storage) {
    const stray = await storage.insert({ name: 'Stray', categoryId: 1 })
    same(Object.keys(stray), ['id', 'name', 'categoryId'])
    same(await storage.list({ limit: 100 }), [stray])
    for (const status of PET_STATUSES) same(await storage.list({ limit: 100, status }), [])
  },
  async 'list.after - only pets with an id above it'(storage) {
    await storage.restore({ pets: [2, 5, 9, 30].map(id => ({ id, ...REX })), nextId: 31 })
    const after = async (id: number, limit = 100) => idsOf(await storage.list({ limit, after: id }))
    same(await after(0), [2, 5, 9, 30])
    same(await after(2), [5, 9, 30])
    same(await after(6), [9, 30])
    same(await after(2, 2), [5, 9])
    same(await after(30), [])
    same(await after(1_000), [])
  },
  async 'list.after-status - `after` and `status` can be combined'(storage) {
    const pets = await insertOfEachStatus(storage)
    for (const status of PET_STATUSES) {
      const [first, ...rest] = pets.filter(pet => pet.status === status)
      same(await storage.list({ limit: 100, status, after: first?.id }), rest)
    }
  },
  async 'int64.exact - every int64 keeps its digits'(storage) {
    for (const categoryId of INT64) {
      const { id } = await storage.insert({ ...REX, categoryId })
      same((await storage.find(id))?.categoryId, categoryId, `finding categoryId ${categoryId}`)
    }
    same(await categories(storage), INT64)
  },
  async 'name.exact - every string is returned unchanged'(storage, names) {
    for (const name of names) {
      await hinted(name, async () => {
        const { id } = await storage.insert({ ...REX, name })
        same((await storage.find(id))?.name, name)
      })
    }
    same(await namesIn(storage), names)
  },
  async 'private.answers - changing a returned pet changes no stored pet'(storage) {
    const inserted = await storage.insert(REX)
    const { id } = inserted
    const found = (await storage.find(id)) as Pet
    const listed = await storage.list({ limit: 1 })
    const filtered = await storage.list({ limit: 1, status: 'available' })
    for (const pet of [inserted, found, listed[0], filtered[0]] as Pet[]) {
      tamper(() => Object.assign(pet, { name: 'changed', categoryId: 99, status: 'sold' }))
    }
    for (const page of [listed, filtered] as Pet[][]) tamper(() => page.push({ ...found, id: 99 }))
    same(await storage.find(id), { id, ...REX })
    same(await storage.list({ limit: 1 }), [{ id, ...REX }])
    same(await storage.list({ limit: 100 }), [{ id, ...REX }])
    same(await storage.list({ limit: 1, status: 'available' }), [{ id, ...REX }])
  },
  async 'private.snapshots - changing a dump or a restored snapshot changes no pet'(storage) {
    const mine = { pets: [{ id: 1, ...REX }], nextId: 2 }
    await storage.restore(mine)
    const dumped = await storage.dump()
    for (const { pets } of [mine, dumped]) {
      tamper(() => Object.assign(pets[0] as Pet, { name: 'changed' }))
      tamper(() => (pets as Pet[]).push({ id: 99, ...REX }))
    }
    same(await storage.find(1), { id: 1, ...REX })
    same(await storage.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 })
  },
  async 'private.lists - a returned list does not grow later'(storage) {
    await insertNamed(storage, 'a')
    const page = await storage.list({ limit: 100 })
    const { pets } = await storage.dump()
    await insertNamed(storage, 'b')
    same([page.length, pets.length], [1, 1])
  },
  async 'dump.all - a dump holds every pet and the next id'(storage) {
    same((await storage.dump()).pets, [])
    const pets = await insertNamed(storage, 'a', 'b')
    const { nextId } = await storage.dump()
    same(await storage.dump(), { pets, nextId })
    same((await storage.insert(REX)).id, nextId)
  },
  async 'restore.all - a restore replaces everything'(storage) {
    await insertOfEachStatus(storage)
    const pets: Pet[] = [
      { id: 4, name: '', categoryId: 9223372036854775807n, status: 'sold' },
      { id: 6, name: 'Stray', categoryId: -1 },
    ]
    await storage.restore({ pets, nextId: 7 })
    same(await storage.dump(), { pets, nextId: 7 })
    same(await storage.list({ limit: 100 }), pets)
    same(await storage.list({ limit: 100, status: 'sold' }), pets.slice(0, 1))
    same(await storage.list({ limit: 100, status: 'available' }), [])
    same(await storage.find(1), undefined)
    same((await storage.insert(REX)).id, 7)
  },
  async 'restore.empty - an empty snapshot starts over'(storage) {
    const empty = await storage.dump()
    await insertNamed(storage, 'a', 'b')
    await storage.restore(empty)
    same(await storage.dump(), empty)
    same((await storage.insert(REX)).id, empty.nextId)
  },
  async 'ready.again - no call needs `ready`, which changes nothing and may be called again'(
    storage,
  ) {
    const pets = await insertNamed(storage, 'a')
    await Promise.all([storage.ready?.(), storage.ready?.()])
    same(await storage.list({ limit: 100 }), pets)
  },
  async 'restore.rejected - an invalid snapshot changes nothing'(storage) {
    await insertOfEachStatus(storage)
    const before = await storage.dump()
    const rex = { id: 8, ...REX }
    const twice: PetSnapshot = { pets: [{ id: 7, ...REX }, rex, rex], nextId: 20 }
    const overtaken: PetSnapshot = { pets: [rex], nextId: 8 }
    const exhausted = { pets: [], nextId: Number.MAX_SAFE_INTEGER + 1 }
    for (const [what, snapshot] of Object.entries({
      'the same id twice': twice,
      'a nextId that is not above every id': overtaken,
      [`a nextId above ${Number.MAX_SAFE_INTEGER}, the last safe integer,`]: exhausted,
    })) {
      await rejects(async () => storage.restore(snapshot), `restoring a snapshot with ${what}`)
      same(await storage.dump(), before, `after a snapshot with ${what}`)
      same(await storage.find(8), before.pets[7], `after a snapshot with ${what}`)
    }
    same((await storage.insert(REX)).id, before.nextId)
  },
}

const ONCE: Record<string, Case> = {
  async 'once.insert - the first create of a key inserts its pet'(storage) {
    const first = await insertOnce(storage, onceOf('k1'))
    const second = await insertOnce(storage, onceOf('k2'))
    const third = await storage.insert(REX)
    same([first.replayed, second.replayed], [false, false])
    same(first, { pet: { id: first.pet.id, ...REX }, fingerprint: MINE, replayed: false })
    same(await storage.list({ limit: 100 }), [first.pet, second.pet, third])
    same(await storage.find(second.pet.id), second.pet)
  },
  async 'once.replay - a later create of the key inserts nothing and returns the first pet'(
    storage,
  ) {
    const { pet } = await insertOnce(storage, onceOf('k'))
    await storage.insert(REX)
    const tom = { ...REX, name: 'Tom' }
    const again = await insertOnce(storage, onceOf('k'), tom, 500)
    same(again, { pet, fingerprint: MINE, replayed: true })
    same(idsOf(await storage.list({ limit: 100 })), [pet.id, pet.id + 1])
    same((await storage.dump()).nextId, pet.id + 2)
  },
  async 'once.fingerprint - a replay has the fingerprint of the create that stored the pet'(
    storage,
  ) {
    const { pet } = await insertOnce(storage, onceOf('k'))
    const again = await insertOnce(storage, { ...onceOf('k'), fingerprint: 'fedcba9876543210' })
    same(again, { pet, fingerprint: MINE, replayed: true })
  },
  async 'once.scope - the same key in another scope is another key'(storage) {
    const scopes = ['a', 'ab', 'A', 'a b', 'a\n', 'a\0', 'ä', 'a'.repeat(5_000)]
    for (const scope of scopes) {
      const { replayed } = await insertOnce(storage, onceOf('bk', { scope }))
      same(replayed, false, `for the scope ${show(scope).slice(0, 40)}`)
    }
    same((await insertOnce(storage, onceOf('k', { scope: 'ab' }))).replayed, false)
    for (const [at, scope] of scopes.entries()) {
      const { pet, replayed } = await insertOnce(storage, onceOf('bk', { scope }))
      same([pet.id, replayed], [at + 1, true])
    }
  },
  async 'once.key - keys are compared exactly'(storage) {
    const keys = ['k', 'K', 'k ', ' k', 'kk', '__proto__', '"\\', "'%_", 'k'.repeat(255)]
    for (const key of keys) same((await insertOnce(storage, onceOf(key))).replayed, false, key)
    for (const [at, key] of keys.entries()) {
      same((await insertOnce(storage, onceOf(key))).pet.id, at + 1, key)
    }
  },
  async 'once.expiry - a key is free from the time at which it expires'(storage) {
    const first = await insertOnce(storage, onceOf('k', { expiresAt: 1_000 }), REX, 0)
    const last = await insertOnce(storage, onceOf('k', { expiresAt: 1_999 }), REX, 999)
    same([last.pet.id, last.replayed], [first.pet.id, true])
    const next = { ...onceOf('k', { expiresAt: 2_000 }), fingerprint: 'fedcba9876543210' }
    const second = await insertOnce(storage, next, REX, 1_000)
    same(second, { ...second, fingerprint: next.fingerprint, replayed: false })
    truth(second.pet.id > first.pet.id, 'the pet of the first create came back')
    const again = await insertOnce(storage, next, REX, 1_999)
    same(again, { ...second, replayed: true })
  },
  async 'once.concurrent - of concurrent creates with one key, one inserts and all get its pet'(
    storage,
  ) {
    const creates = Array.from({ length: 60 }, (_, at) => insertOnce(storage, onceOf(`k${at % 3}`)))
    const [inserted, others] = await Promise.all([
      Promise.all(creates),
      insertNamed(storage, 'a', 'b', 'c'),
    ])
    for (const rest of [0, 1, 2]) {
      const answers = inserted.filter((_, at) => at % 3 === rest)
      same(new Set(answers.map(({ pet }) => pet.id)).size, 1)
      same(answers.filter(({ replayed }) => !replayed).length, 1)
    }
    const { pets } = await storage.dump()
    same(pets.length, 3 + others.length)
    same(new Set(idsOf(pets)).size, pets.length)
  },
  async 'once.rejected - a rejected insert leaves its key free'(storage) {
    const failing: NewPet = {
      get name(): string {
        throw new Error('This pet has no name')
      },
      categoryId: 1,
    }
    await rejects(async () => insertOnce(storage, onceOf('k'), failing))
    same((await insertOnce(storage, onceOf('k'))).replayed, false)
    same((await storage.list({ limit: 100 })).length, 1)
  },
  async 'once.dump - a dump holds the keys, and a restore brings them back'(storage) {
    const { pet } = await insertOnce(storage, onceOf('k'))
    await storage.insert(REX)
    const used = { ...onceOf('k'), petId: pet.id }
    const dumped = await storage.dump()
    same(dumped.idempotencyKeys, [used])
    await storage.restore({ pets: [], nextId: 1 })
    await storage.restore(dumped)
    same(await storage.dump(), dumped)
    same(await insertOnce(storage, onceOf('k')), { pet, fingerprint: MINE, replayed: true })
  },
  async 'once.restore - a restore replaces the keys'(storage) {
    await insertOnce(storage, onceOf('old'))
    const pets = [{ id: 7, ...REX }]
    const idempotencyKeys = [{ ...onceOf('new'), petId: 7 }]
    await storage.restore({ pets, nextId: 8, idempotencyKeys })
    same((await insertOnce(storage, onceOf('new'))).pet.id, 7)
    same((await insertOnce(storage, onceOf('old'))).pet.id, 8)
  },
  async 'once.orphan - a restored key without its pet is free'(storage) {
    const idempotencyKeys = [{ ...onceOf('k'), petId: 3 }]
    await storage.restore({ pets: [{ id: 2, ...REX }], nextId: 5, idempotencyKeys })
    const { pet, replayed } = await insertOnce(storage, onceOf('k'))
    same([pet.id, replayed], [5, false])
  },
}

const MINE = '0123456789abcdef'

function onceOf(key: string, others: Partial<Once> = {}): Once {
  return { scope: 'web', idempotencyKey: key, fingerprint: MINE, expiresAt: 1_000_000, ...others }
}

async function insertOnce(storage: PetStorage, once: Once, pet: NewPet = REX, now = 0) {
  if (!storage.insertOnce) throw new Error('The storage has no method insertOnce')
  return storage.insertOnce(pet, once, now)
}

type ReopenedCase = (...given: [PetStorage, Reopen, readonly string[]]) => Promise<void>

const REOPENED: Record<string, ReopenedCase> = {
  async 'reopen.pets - every pet is kept exactly'(storage, reopen, names) {
    for (const categoryId of INT64) await storage.insert({ ...REX, categoryId })
    for (const name of names) await storage.insert({ name, categoryId: 1 })
    const before = await storage.dump()
    const again = await reopen(storage)
    same(await again.dump(), before)
    same(await again.list({ limit: 100, status: 'available' }), before.pets.slice(0, INT64.length))
  },
  async 'reopen.id - ids continue and none is reused'(storage, reopen) {
    await storage.restore({ pets: [{ id: 3, ...REX }], nextId: 50 })
    const again = await reopen(storage)
    same((await again.insert(REX)).id, 50)
    same((await (await reopen(again)).insert(REX)).id, 51)
  },
  async 'reopen.restore - what a restore replaced does not come back'(storage, reopen) {
    await insertNamed(storage, 'a', 'b', 'c')
    await storage.restore({ pets: [{ id: 1, ...REX }], nextId: 2 })
    const again = await reopen(storage)
    same(await again.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 })
  },
}

const REOPENED_ONCE: Record<string, ReopenedCase> = {
  async 'reopen.once - keys are kept with their expiry'(storage, reopen) {
    const { pet } = await insertOnce(storage, onceOf('k', { scope: 'ä"\n' }))
    await insertOnce(storage, onceOf('"\\'))
    const before = await storage.dump()
    const again = await reopen(storage)
    same(await again.dump(), before)
    const once = onceOf('k', { scope: 'ä"\n' })
    same(await insertOnce(again, once, REX, 999_999), { pet, fingerprint: MINE, replayed: true })
    same((await insertOnce(await reopen(again), once, REX, 1_000_000)).replayed, false)
  },
}
type Reopen = (storage: PetStorage) => Promise<PetStorage>

const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const satisfies NewPet

const INT64 = [
  9223372036854775807n,
  -9223372036854775808n,
  9007199254740993n,
  -9007199254740993n,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  0,
  -1,
  1,
]

const NAMES = [
  '',
  ' ',
  'a\u0001\u001f\u007f',
  '🐕‍🦺 ñandú 猫',
  '"quotes" \\ and \'apostrophes\'',
  'line\nbreak\r\n\ttab\u2028\u2029',
  '\ufeffmark',
  '__proto__',
  'constructor',
  '{"id":1}',
  '],"nextId":1}',
  '9223372036854775807',
  'x'.repeat(70_000),
]

/** Some engines have no text for these. */
const UNUSUAL_NAMES = {
  'NUL characters': ['\0', 'a\0b'],
  'lone surrogates': ['\ud800', 'high \ud83d and low \ude00 apart'],
} as const

function insertNamed(storage: PetStorage, ...names: readonly string[]): Promise<Pet[]> {
  return Promise.all(names.map(name => storage.insert({ ...REX, name })))
}

async function insertOfEachStatus(storage: PetStorage): Promise<Pet[]> {
  const pets: Pet[] = []
  for (const name of ['a', 'b', 'c']) {
    for (const status of PET_STATUSES) {
      pets.push(await storage.insert({ name, categoryId: 1, status }))
    }
  }
  return pets
}

function idsOf(pets: readonly Pet[]): number[] {
  return pets.map(pet => pet.id)
}

async function namesIn(storage: PetStorage): Promise<string[]> {
  return (await storage.dump()).pets.map(pet => pet.name)
}

async function categories(storage: PetStorage): Promise<unknown[]> {
  return (await storage.list({ limit: 100 })).map(pet => pet.categoryId)
}

/** A frozen value throws, a copy allows the change: both are private. */
function tamper(change: () => void): void {
  try {
    change()
  } catch {}
}

async function rejects(
  call: () => Promise<unknown>,
  what = 'the call',
  because = ',',
): Promise<void> {
  const settled = await call().then(
    () => 'resolved',
    () => 'rejected',
  )
  if (settled === 'rejected') return
  throw new Error(`Expected ${what} to be rejected${because} got resolved`)
}

async function hinted(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    const kinds = Object.entries(UNUSUAL_NAMES) as [NameKind, readonly string[]][]
    const kind = kinds.find(([, unusual]) => unusual.includes(name))?.[0]
    if (kind && error instanceof Error) {
      error.message += `; if the storage cannot keep ${kind}, reject them and pass cannotKeep: ['${kind}']`
    }
    throw error
  }
}

function truth(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

function same(actual: unknown, expected: unknown, when = ''): void {
  const [got, wanted] = [show(actual), show(expected)]
  const place = when && ` ${when}`
  truth(got === wanted, `Expected ${cut(wanted)}${place}, got ${cut(got)}`)
}

function cut(text: string, longest = 500): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** Shows every difference: a bigint from a number, a missing field, a lone surrogate, -0. */
function show(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  const names = Object.keys(value).sort()
  const fields = names.map(
    name => `${JSON.stringify(name)}: ${show(value[name as keyof typeof value])}`,
  )
  return `{${fields.join(', ')}}`
}
