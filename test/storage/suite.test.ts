import assert from 'node:assert/strict'
import test from 'node:test'
import { memoryStorage } from '../../adapters/memory.js'
import { createPetIndex } from '../../adapters/storage/pet-index.js'
import { type StorageFactory, storageSuite } from '../../adapters/storage/suite.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { InsertedOnce, Once, PetStorage, UsedKey } from '../../src/ports.js'

test('storage suite - passes a correct storage', async () => {
  assert.deepEqual(await failingCases(storage => storage), [])
})

test('storage suite - has a planted bug for every case', () => {
  const ids: string[] = []
  storageSuite(name => ids.push(idOf(name)), {
    create: memoryStorage,
    reopen: async s => s,
    idempotency: true,
  })
  const failed = Object.values(plantedBugs()).map(bug => bug.fails)
  assert.deepEqual(failed.sort(), ids.sort())
})

for (const [bug, { plant, fails }] of Object.entries(plantedBugs())) {
  test(`storage suite - ${bug} fails ${fails}`, async () => {
    const failing = await failingCases(plant)
    assert.ok(failing.includes(fails), `these failed: ${failing.join(', ') || 'none'}`)
  })
}

test('storage suite - a storage may declare names that it rejects, and must then reject them', async () => {
  const strict = (): PetStorage => {
    const good = memoryStorage()
    return {
      ...good,
      async insert(pet) {
        if (pet.name?.includes('\0')) throw new Error('No NUL in text')
        return good.insert(pet)
      },
    }
  }
  const [undeclared] = await failures({ create: strict })
  assert.equal(
    undeclared,
    'name.exact - every string is returned unchanged: No NUL in text; ' +
      "if the storage cannot keep NUL characters, reject them and pass cannotKeep: ['NUL characters']",
  )
  assert.deepEqual(await failures({ create: strict, cannotKeep: ['NUL characters'] }), [])
  const [overdeclared] = await failures({ create: memoryStorage, cannotKeep: ['NUL characters'] })
  assert.equal(
    overdeclared,
    'name.rejected - the storage cannot keep NUL characters, and rejects them: ' +
      'Expected inserting the name "\\u0000" to be rejected, as cannotKeep says, got resolved',
  )
})

test('storage suite - a failure says what was expected, and the bounds of nextId', async () => {
  const wrong: [broken: Plant, message: RegExp][] = [
    [
      good => ({ ...good, find: async () => undefined }),
      /^insert\.found - .*: Expected \{.*\}, got undefined$/,
    ],
    [good => ({ ...good, restore: async () => {} }), /a snapshot with the same id twice to be rej/],
    [
      good => ({ ...good, restore: async s => (s.nextId === 8 ? undefined : good.restore(s)) }),
      /a nextId that is not above every id to be rejected/,
    ],
    [
      good => ({
        ...good,
        restore: async s => (Number.isSafeInteger(s.nextId) ? good.restore(s) : undefined),
      }),
      /a nextId above 9007199254740991, the last safe integer, to be rejected/,
    ],
  ]
  for (const [broken, message] of wrong) {
    const messages = await failures({ create: () => broken(memoryStorage()) })
    assert.ok(
      messages.some(one => message.test(one)),
      `${message}\n${messages.join('\n')}`,
    )
  }
})

async function failures(factory: StorageFactory): Promise<string[]> {
  const runs: (() => Promise<void>)[] = []
  storageSuite((_name, run) => runs.push(run), factory)
  const settled = await Promise.allSettled(runs.map(run => run()))
  return settled.flatMap(run => (run.status === 'rejected' ? [(run.reason as Error).message] : []))
}

interface Bug {
  readonly plant: Plant
  readonly fails: string
}
/** Breaks a correct storage. */
type Plant = (good: PetStorage) => PetStorage

function plantedBugs(): Record<string, Bug> {
  return {
    'a lost write': {
      fails: 'insert.found',
      plant: good => ({
        ...good,
        async insert(pet) {
          const { pets, nextId } = await good.dump()
          const inserted = await good.insert(pet)
          if (nextId === 2) await good.restore({ pets, nextId: 3 })
          return inserted
        },
      }),
    },
    'an answer that is not what was stored': {
      fails: 'insert.answer',
      plant: good => ({
        ...good,
        insert: async pet => ({ ...(await good.insert(pet)), name: pet.name.toLowerCase() }),
      }),
    },
    'an input kept by reference': {
      fails: 'insert.copy',
      plant: good => ({
        ...good,
        async insert(pet) {
          await null
          return good.insert(pet)
        },
      }),
    },
    'a field of the client stored': {
      fails: 'insert.fields',
      plant: good => overPets(good, (pet, given) => ({ ...pet, ...(given as object), id: pet.id })),
    },
    'a half-written insert': {
      fails: 'insert.rejected',
      plant: good => ({
        ...good,
        async insert(pet) {
          const { pets, nextId } = await good.dump()
          await good.restore({ pets: [...pets, { id: nextId, ...REX }], nextId: nextId + 1 })
          const { name, categoryId, status = 'available' } = pet
          const whole = { id: nextId, name, categoryId, status }
          await good.restore({ pets: [...pets, whole], nextId: nextId + 1 })
          return whole
        },
      }),
    },
    'an id read, then written': {
      fails: 'insert.concurrent',
      plant: good => ({
        ...good,
        async insert({ name, categoryId }) {
          const { nextId } = await good.dump()
          await null
          const pet = { id: nextId, name, categoryId, status: 'available' as const }
          const { pets } = await good.dump()
          await good.restore({
            pets: [...pets.filter(p => p.id < nextId), pet],
            nextId: nextId + 1,
          })
          return pet
        },
      }),
    },
    'ids from zero': {
      fails: 'id.positive',
      plant: good => overPets(good, pet => ({ ...pet, id: pet.id - 1 })),
    },
    'ids that go down': {
      fails: 'id.ascending',
      plant: good => overPets(good, pet => ({ ...pet, id: 1_000 - pet.id })),
    },
    'a reused id': {
      fails: 'id.never-reused',
      plant: good => ({
        ...good,
        async restore({ pets, nextId }) {
          const highest = pets.reduce((id, pet) => Math.max(id, pet.id), 0)
          await good.restore({ pets, nextId: nextId > highest ? highest + 1 : nextId })
        },
      }),
    },
    'ids beyond what a number holds exactly': {
      fails: 'id.last',
      plant: good => ({
        ...good,
        async insert(pet) {
          try {
            return await good.insert(pet)
          } catch {
            return { ...REX, ...(pet as Pet) }
          }
        },
      }),
    },
    'the last pet for an unknown id': {
      fails: 'find.unknown',
      plant: good => ({
        ...good,
        find: async id => (await good.find(id)) ?? (await good.dump()).pets.at(-1),
      }),
    },
    'the place in the list taken for the id': {
      fails: 'find.gap',
      plant: good => ({ ...good, find: async id => (await good.dump()).pets[id - 1] }),
    },
    'a pet out of nowhere': {
      fails: 'list.empty',
      plant: good => ({
        ...good,
        async list(filter) {
          const page = await good.list(filter)
          return (await good.dump()).nextId > 1 ? page : [{ id: 1, ...REX }]
        },
      }),
    },
    'a wrong order': {
      fails: 'list.order',
      plant: good => ({
        ...good,
        list: async filter =>
          (await good.list(filter)).toSorted((a, b) => String(a.id).localeCompare(String(b.id))),
      }),
    },
    'one pet too many': {
      fails: 'list.limit',
      plant: good => ({
        ...good,
        list: ({ limit, ...filter }) => good.list({ ...filter, limit: limit + 1 }),
      }),
    },
    'a page kept for too long': {
      fails: 'list.fresh',
      plant(good) {
        const kept = new Map<string, readonly Pet[]>()
        return {
          ...good,
          async list(filter) {
            const page = kept.get(JSON.stringify(filter)) ?? (await good.list(filter))
            kept.set(JSON.stringify(filter), page)
            return page
          },
        }
      },
    },
    'a filter after the limit': {
      fails: 'list.status',
      plant: good => ({
        ...good,
        list: async ({ status, ...filter }) =>
          (await good.list(filter)).filter(pet => status === undefined || pet.status === status),
      }),
    },
    'no status taken for available': {
      fails: 'list.no-status',
      plant: good => ({
        ...good,
        async list({ limit, status, after = 0 }) {
          const { pets } = await good.dump()
          const matching = pets.filter(
            pet => pet.id > after && (!status || (pet.status ?? 'available') === status),
          )
          return matching.slice(0, limit)
        },
      }),
    },
    '`after` included': {
      fails: 'list.after',
      plant: good => ({
        ...good,
        list: ({ after, ...filter }) => good.list({ ...filter, after: after && after - 1 }),
      }),
    },
    '`after` forgotten where there is a status': {
      fails: 'list.after-status',
      plant: good => ({
        ...good,
        list: filter => good.list(filter.status ? { ...filter, after: 0 } : filter),
      }),
    },
    'a rounded int64': {
      fails: 'int64.exact',
      plant: good => ({
        ...good,
        insert: pet => good.insert({ ...pet, categoryId: Number(pet.categoryId) }),
      }),
    },
    'a name through UTF-8': {
      fails: 'name.exact',
      plant: good => ({
        ...good,
        insert: pet => good.insert({ ...pet, name: Buffer.from(pet.name).toString() }),
      }),
    },
    'a shared mutable reference': { fails: 'private.answers', plant: sharing },
    'a restored snapshot kept by reference': { fails: 'private.snapshots', plant: sharing },
    'a list that is the storage itself': { fails: 'private.lists', plant: sharing },
    'a dump without the next id': {
      fails: 'dump.all',
      plant: good => ({ ...good, dump: async () => ({ ...(await good.dump()), nextId: 1 }) }),
    },
    'a restore that adds': {
      fails: 'restore.all',
      plant: good => ({
        ...good,
        async restore({ pets, nextId }) {
          const before = (await good.dump()).pets.filter(pet => pets.every(p => p.id !== pet.id))
          const all = createPetIndex({ pets: [...before, ...pets], nextId: 1_000 }).dump().pets
          await good.restore({ pets: all, nextId: Math.max(nextId, (all.at(-1)?.id ?? 0) + 1) })
        },
      }),
    },
    'ids that go on counting after a reset': {
      fails: 'restore.empty',
      plant: good => ({
        ...good,
        async restore({ pets, nextId }) {
          const last = (await good.dump()).nextId
          await good.restore({ pets, nextId: pets.length === 0 ? last : nextId })
        },
      }),
    },
    'a restore that stops halfway': {
      fails: 'restore.rejected',
      plant: good => ({
        ...good,
        async restore(snapshot) {
          await good.restore({ pets: [], nextId: 1 })
          await good.restore(snapshot)
        },
      }),
    },
    'a restart that loses the last pet': {
      fails: 'reopen.pets',
      plant: reopening(({ pets, nextId }) => ({ pets: pets.slice(0, -1), nextId })),
    },
    'a restart that counts from the last pet': {
      fails: 'reopen.id',
      plant: reopening(({ pets }) => ({ pets, nextId: (pets.at(-1)?.id ?? 0) + 1 })),
    },
    'a key that hides its first pet': {
      fails: 'once.insert',
      plant: good => overOnce(good, async call => ({ ...(await call()), replayed: true })),
    },
    'a key that is ignored': {
      fails: 'once.replay',
      plant: good => ({
        ...good,
        insertOnce: async (pet, { fingerprint }) => ({
          pet: await good.insert(pet),
          fingerprint,
          replayed: false,
        }),
      }),
    },
    'the fingerprint of the replay': {
      fails: 'once.fingerprint',
      plant: good =>
        overOnce(good, async (call, { fingerprint }) => ({ ...(await call()), fingerprint })),
    },
    'one scope for all': {
      fails: 'once.scope',
      plant: good => withOnce(good, once => ({ ...once, scope: 'all' })),
    },
    'keys in lower case': {
      fails: 'once.key',
      plant: good => withOnce(good, once => ({ ...once, key: once.key.toLowerCase() })),
    },
    'a key that expires too late': {
      fails: 'once.expiry',
      plant: good => withOnce(good, once => ({ ...once, expiresAt: once.expiresAt + 1 })),
    },
    'a key looked up, then inserted': {
      fails: 'once.concurrent',
      plant(good) {
        const used = new Map<string, InsertedOnce>()
        return overOnce(good, async (_, { key, fingerprint }, pet) => {
          const known = used.get(key)
          await null
          if (known) return { ...known, replayed: true }
          const first = { pet: await good.insert(pet), fingerprint, replayed: false }
          used.set(key, first)
          return first
        })
      },
    },
    'a key stored before its pet': {
      fails: 'once.rejected',
      plant(good) {
        const used = new Set<string>()
        return overOnce(good, async (call, { key }) => {
          const replayed = used.has(key)
          used.add(key)
          return { ...(await call()), replayed }
        })
      },
    },
    'a dump without keys': {
      fails: 'once.dump',
      plant: good => ({
        ...good,
        async dump() {
          const { pets, nextId } = await good.dump()
          return { pets, nextId }
        },
      }),
    },
    'a restore that keeps the old keys': {
      fails: 'once.restore',
      plant(good) {
        const old: UsedKey[] = []
        return {
          ...good,
          async restore(snapshot) {
            old.push(...((await good.dump()).idempotencyKeys ?? []))
            const { idempotencyKeys = [], pets } = snapshot
            const moved = old.map(used => ({ ...used, petId: pets[0]?.id ?? 0 }))
            await good.restore({ ...snapshot, idempotencyKeys: [...idempotencyKeys, ...moved] })
          },
        }
      },
    },
    'a restored key that takes any pet': {
      fails: 'once.orphan',
      plant: good => ({
        ...good,
        async restore(snapshot) {
          const { idempotencyKeys = [], pets } = snapshot
          const moved = idempotencyKeys.map(used => ({ ...used, petId: pets[0]?.id ?? 0 }))
          await good.restore({ ...snapshot, idempotencyKeys: moved })
        },
      }),
    },
    'a restart that forgets keys': {
      fails: 'reopen.once',
      plant: reopening(({ pets, nextId }) => ({ pets, nextId })),
    },
    'a restart that brings back what was replaced': {
      fails: 'reopen.restore',
      plant: reopening(({ pets, nextId }) => ({
        pets: pets.length === 1 ? [...pets, { id: 2, ...REX }] : pets,
        nextId: Math.max(nextId, 3),
      })),
    },
  }
}

const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const
const RESTART = Symbol('restart')

/** The ids of the cases that a broken storage fails. */
async function failingCases(plant: Plant): Promise<string[]> {
  const cases: [string, () => Promise<void>][] = []
  storageSuite((name, run) => cases.push([name, run]), {
    create: () => plant(memoryStorage()),
    reopen: async storage => (storage as Reopenable)[RESTART]?.() ?? storage,
    idempotency: true,
  })
  const failing: string[] = []
  for (const [name, run] of cases) {
    await run().catch(() => failing.push(idOf(name)))
  }
  return failing
}

function idOf(name: string): string {
  return name.slice(0, name.indexOf(' '))
}

interface Reopenable extends PetStorage {
  [RESTART]?(): Promise<PetStorage>
}

function reopening(change: (snapshot: Awaited<ReturnType<PetStorage['dump']>>) => object): Plant {
  return good => {
    const storage: Reopenable = {
      ...good,
      async [RESTART]() {
        await good.restore(change(await good.dump()) as never)
        return storage
      },
    }
    return storage
  }
}

type InsertOnce = NonNullable<PetStorage['insertOnce']>

function overOnce(
  good: PetStorage,
  change: (call: () => ReturnType<InsertOnce>, once: Once, pet: NewPet) => ReturnType<InsertOnce>,
): PetStorage {
  const insertOnce = good.insertOnce as InsertOnce
  return {
    ...good,
    insertOnce: (pet, once, now) => change(() => insertOnce(pet, once, now), once, pet),
  }
}

function withOnce(good: PetStorage, change: (once: Once) => Once): PetStorage {
  const insertOnce = good.insertOnce as InsertOnce
  return { ...good, insertOnce: (pet, once, now) => insertOnce(pet, change(once), now) }
}

/** Changes every pet on its way out. */
function overPets(good: PetStorage, change: (pet: Pet, given: NewPet) => Pet): PetStorage {
  const given = new Map<number, NewPet>()
  const changed = (pet: Pet) => change(pet, given.get(pet.id) ?? pet)
  return {
    ...good,
    async insert(pet) {
      const inserted = await good.insert(pet)
      given.set(inserted.id, pet)
      return changed(inserted)
    },
    async find(id) {
      const pet = await good.find(id)
      return pet && changed(pet)
    },
    list: async filter => (await good.list(filter)).map(changed),
  }
}

/** Keeps and returns the array itself. */
function sharing(): PetStorage {
  let pets: Pet[] = []
  let nextId = 1
  return {
    async insert(pet) {
      const inserted = { id: nextId++, ...pet } as Pet
      pets.push(inserted)
      return inserted
    },
    find: async id => pets.find(pet => pet.id === id),
    list: async ({ limit, status }) =>
      limit < pets.length || status !== undefined
        ? pets.filter(pet => status === undefined || pet.status === status).slice(0, limit)
        : pets,
    dump: async () => ({ pets, nextId }),
    async restore(snapshot) {
      pets = snapshot.pets as Pet[]
      nextId = snapshot.nextId
    },
  }
}
