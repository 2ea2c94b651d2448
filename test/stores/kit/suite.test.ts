import assert from 'node:assert/strict'
import test from 'node:test'
import { createPetIndex } from '../../../adapters/stores/kit/pet-index.js'
import { type StorageFactory, storageSuite } from '../../../adapters/stores/kit/suite.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { InsertedOnce, Once, PetStorage, UsedKey } from '../../../src/ports.js'

test('storage suite - passes a correct storage', async () => {
  assert.deepEqual(await failingCases(() => ({})), [])
})

test('storage suite - has a planted bug for every case', () => {
  const ids: string[] = []
  storageSuite(name => ids.push(idOf(name)), {
    create: memoryStorage,
    reopen: async s => s,
    idempotency: true,
  })
  assert.deepEqual(Object.keys(PLANTED_BUGS).sort(), ids.sort())
})

test('storage suite - every case finds its planted bug', async () => {
  for (const [id, plant] of Object.entries(PLANTED_BUGS)) {
    const failing = await failingCases(plant)
    assert.ok(failing.includes(id), `${id}: these failed: ${failing.join(', ') || 'none'}`)
  }
})

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
      () => ({ find: async () => undefined }),
      /^insert\.found - .*: Expected \{.*\}, got undefined$/,
    ],
    [() => ({ restore: async () => {} }), /a snapshot with the same id twice to be rej/],
    [
      good => ({ restore: async s => (s.nextId === 8 ? undefined : good.restore(s)) }),
      /a nextId that is not above every id to be rejected/,
    ],
    [
      good => ({
        restore: async s => (Number.isSafeInteger(s.nextId) ? good.restore(s) : undefined),
      }),
      /a nextId above 9007199254740991, the last safe integer, to be rejected/,
    ],
  ]
  for (const [broken, message] of wrong) {
    const messages = await failures({ create: () => planted(broken) })
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

/** Replaces methods of a correct storage by broken ones. */
type Plant = (good: PetStorage) => Partial<Reopenable>

/** A bug for each case of the suite, by the id of the case that finds it. */
const PLANTED_BUGS: Readonly<Record<string, Plant>> = {
  // A lost write
  'insert.found': good => ({
    async insert(pet) {
      const { pets, nextId } = await good.dump()
      const inserted = await good.insert(pet)
      if (nextId === 2) await good.restore({ pets, nextId: 3 })
      return inserted
    },
  }),
  // An answer that is not what was stored
  'insert.answer': good => ({
    insert: async pet => ({ ...(await good.insert(pet)), name: pet.name.toLowerCase() }),
  }),
  // An input kept by reference
  'insert.copy': good => ({
    async insert(pet) {
      await null
      return good.insert(pet)
    },
  }),
  // A field of the client stored
  'insert.fields': good =>
    overPets(good, (pet, given) => ({ ...pet, ...(given as object), id: pet.id })),
  // An opening that begins anew
  'ready.again': good => ({ ready: () => good.restore({ pets: [], nextId: 1 }) }),
  // A half-written insert
  'insert.rejected': good => ({
    async insert(pet) {
      const { pets, nextId } = await good.dump()
      await good.restore({ pets: [...pets, { id: nextId, ...REX }], nextId: nextId + 1 })
      const { name, categoryId, status = 'available' } = pet
      const whole = { id: nextId, name, categoryId, status }
      await good.restore({ pets: [...pets, whole], nextId: nextId + 1 })
      return whole
    },
  }),
  // An id read, then written
  'insert.concurrent': good => ({
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
  // Ids from zero
  'id.positive': good => overPets(good, pet => ({ ...pet, id: pet.id - 1 })),
  // Ids that go down
  'id.ascending': good => overPets(good, pet => ({ ...pet, id: 1_000 - pet.id })),
  // A reused id
  'id.never-reused': good => ({
    async restore({ pets, nextId }) {
      const highest = pets.reduce((id, pet) => Math.max(id, pet.id), 0)
      await good.restore({ pets, nextId: nextId > highest ? highest + 1 : nextId })
    },
  }),
  // Ids beyond what a number holds exactly
  'id.last': good => ({
    async insert(pet) {
      try {
        return await good.insert(pet)
      } catch {
        return { ...REX, ...(pet as Pet) }
      }
    },
  }),
  // The last pet for an unknown id
  'find.unknown': good => ({
    find: async id => (await good.find(id)) ?? (await good.dump()).pets.at(-1),
  }),
  // The place in the list taken for the id
  'find.gap': good => ({ find: async id => (await good.dump()).pets[id - 1] }),
  // A pet out of nowhere
  'list.empty': good => ({
    async list(filter) {
      const page = await good.list(filter)
      return (await good.dump()).nextId > 1 ? page : [{ id: 1, ...REX }]
    },
  }),
  // A wrong order
  'list.order': good => ({
    list: async filter =>
      (await good.list(filter)).toSorted((a, b) => String(a.id).localeCompare(String(b.id))),
  }),
  // Pages would end here without a `Link` to the next one
  'list.limit': good => ({
    list: ({ limit, ...filter }) => good.list({ ...filter, limit: Math.min(limit, 100) }),
  }),
  // A page kept for too long
  'list.fresh'(good) {
    const kept = new Map<string, readonly Pet[]>()
    return {
      async list(filter) {
        const page = kept.get(JSON.stringify(filter)) ?? (await good.list(filter))
        kept.set(JSON.stringify(filter), page)
        return page
      },
    }
  },
  // A filter after the limit
  'list.status': good => ({
    list: async ({ status, ...filter }) =>
      (await good.list(filter)).filter(pet => status === undefined || pet.status === status),
  }),
  // No status taken for available
  'list.no-status': good => ({
    async list({ limit, status, after = 0 }) {
      const { pets } = await good.dump()
      const matching = pets.filter(
        pet => pet.id > after && (!status || (pet.status ?? 'available') === status),
      )
      return matching.slice(0, limit)
    },
  }),
  // `after` included
  'list.after': good => ({
    list: ({ after, ...filter }) => good.list({ ...filter, after: after && after - 1 }),
  }),
  // `after` forgotten where there is a status
  'list.after-status': good => ({
    list: filter => good.list(filter.status ? { ...filter, after: 0 } : filter),
  }),
  // A rounded int64
  'int64.exact': good => ({
    insert: pet => good.insert({ ...pet, categoryId: Number(pet.categoryId) }),
  }),
  // A name through UTF-8
  'name.exact': good => ({
    insert: pet => good.insert({ ...pet, name: Buffer.from(pet.name).toString() }),
  }),
  // A shared mutable reference
  'private.answers': sharing,
  // A restored snapshot kept by reference
  'private.snapshots': sharing,
  // A list that is the storage itself
  'private.lists': sharing,
  // A dump without the next id
  'dump.all': good => ({ dump: async () => ({ ...(await good.dump()), nextId: 1 }) }),
  // A restore that adds
  'restore.all': good => ({
    async restore({ pets, nextId }) {
      const before = (await good.dump()).pets.filter(pet => pets.every(p => p.id !== pet.id))
      const all = createPetIndex({ pets: [...before, ...pets], nextId: 1_000 }).dump().pets
      await good.restore({ pets: all, nextId: Math.max(nextId, (all.at(-1)?.id ?? 0) + 1) })
    },
  }),
  // Ids that go on counting after a reset
  'restore.empty': good => ({
    async restore({ pets, nextId }) {
      const last = (await good.dump()).nextId
      await good.restore({ pets, nextId: pets.length === 0 ? last : nextId })
    },
  }),
  // A restore that stops halfway
  'restore.rejected': good => ({
    async restore(snapshot) {
      await good.restore({ pets: [], nextId: 1 })
      await good.restore(snapshot)
    },
  }),
  // A restart that loses the last pet
  'reopen.pets': reopening(({ pets, nextId }) => ({ pets: pets.slice(0, -1), nextId })),
  // A restart that counts from the last pet
  'reopen.id': reopening(({ pets }) => ({ pets, nextId: (pets.at(-1)?.id ?? 0) + 1 })),
  // A key that hides its first pet
  'once.insert': good => overOnce(good, async call => ({ ...(await call()), replayed: true })),
  // A key that is ignored
  'once.replay': good => ({
    insertOnce: async (pet, { fingerprint }) => ({
      pet: await good.insert(pet),
      fingerprint,
      replayed: false,
    }),
  }),
  // The fingerprint of the replay
  'once.fingerprint': good =>
    overOnce(good, async (call, { fingerprint }) => ({ ...(await call()), fingerprint })),
  // One scope for all
  'once.scope': good => withOnce(good, once => ({ ...once, scope: 'all' })),
  // Keys in lower case
  'once.key': good =>
    withOnce(good, once => ({ ...once, idempotencyKey: once.idempotencyKey.toLowerCase() })),
  // A key that expires too late
  'once.expiry': good => withOnce(good, once => ({ ...once, expiresAt: once.expiresAt + 1 })),
  // A key looked up, then inserted
  'once.concurrent'(good) {
    const used = new Map<string, InsertedOnce>()
    return overOnce(good, async (_, { idempotencyKey, fingerprint }, pet) => {
      const known = used.get(idempotencyKey)
      await null
      if (known) return { ...known, replayed: true }
      const first = { pet: await good.insert(pet), fingerprint, replayed: false }
      used.set(idempotencyKey, first)
      return first
    })
  },
  // A key stored before its pet
  'once.rejected'(good) {
    const used = new Set<string>()
    return overOnce(good, async (call, { idempotencyKey }) => {
      const replayed = used.has(idempotencyKey)
      used.add(idempotencyKey)
      return { ...(await call()), replayed }
    })
  },
  // A dump without keys
  'once.dump': good => ({
    async dump() {
      const { pets, nextId } = await good.dump()
      return { pets, nextId }
    },
  }),
  // A restore that keeps the old keys
  'once.restore'(good) {
    const old: UsedKey[] = []
    return {
      async restore(snapshot) {
        old.push(...((await good.dump()).idempotencyKeys ?? []))
        const { idempotencyKeys = [], pets } = snapshot
        const moved = old.map(used => ({ ...used, petId: pets[0]?.id ?? 0 }))
        await good.restore({ ...snapshot, idempotencyKeys: [...idempotencyKeys, ...moved] })
      },
    }
  },
  // A restored key that takes any pet
  'once.orphan': good => ({
    async restore(snapshot) {
      const { idempotencyKeys = [], pets } = snapshot
      const moved = idempotencyKeys.map(used => ({ ...used, petId: pets[0]?.id ?? 0 }))
      await good.restore({ ...snapshot, idempotencyKeys: moved })
    },
  }),
  // A restart that forgets keys
  'reopen.once': reopening(({ pets, nextId }) => ({ pets, nextId })),
  // A restart that brings back what was replaced
  'reopen.restore': reopening(({ pets, nextId }) => ({
    pets: pets.length === 1 ? [...pets, { id: 2, ...REX }] : pets,
    nextId: Math.max(nextId, 3),
  })),
}

const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const
const RESTART = Symbol('restart')

function planted(plant: Plant): PetStorage {
  const good = memoryStorage()
  return { ...good, ...plant(good) }
}

/** The ids of the cases that a broken storage fails. */
async function failingCases(plant: Plant): Promise<string[]> {
  const cases: [string, () => Promise<void>][] = []
  storageSuite((name, run) => cases.push([name, run]), {
    create: () => planted(plant),
    async reopen(storage) {
      await (storage as Reopenable)[RESTART]?.()
      return storage
    },
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
  [RESTART]?(): Promise<void>
}

function reopening(change: (snapshot: Awaited<ReturnType<PetStorage['dump']>>) => object): Plant {
  return good => ({
    [RESTART]: async () => good.restore(change(await good.dump()) as never),
  })
}

type InsertOnce = NonNullable<PetStorage['insertOnce']>

function overOnce(
  good: PetStorage,
  change: (call: () => ReturnType<InsertOnce>, once: Once, pet: NewPet) => ReturnType<InsertOnce>,
): Partial<PetStorage> {
  const insertOnce = good.insertOnce as InsertOnce
  return {
    insertOnce: (pet, once, now) => change(() => insertOnce(pet, once, now), once, pet),
  }
}

function withOnce(good: PetStorage, change: (once: Once) => Once): Partial<PetStorage> {
  const insertOnce = good.insertOnce as InsertOnce
  return { insertOnce: (pet, once, now) => insertOnce(pet, change(once), now) }
}

/** Changes every pet on its way out. */
function overPets(good: PetStorage, change: (pet: Pet, given: NewPet) => Pet): Partial<PetStorage> {
  const given = new Map<number, NewPet>()
  const changed = (pet: Pet) => change(pet, given.get(pet.id) ?? pet)
  return {
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
