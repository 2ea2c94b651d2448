import { callerGone } from '../../../src/api-error.js'
import { toPet } from '../../../src/pets/pet.js'
import type { Once, UsedKey } from '../../../src/pets/used-key.js'
import type { InsertedOnce, IsGone } from '../../../src/ports.js'
import type { DurableStorage, OpenedStorage } from '../kit/durable-storage.js'
import type { Insert } from '../kit/keyed-inserts.js'
import { createPetIndex } from '../kit/pet-index.js'
import { snapshotOf } from '../kit/pet-stream.js'
import type { Connection, Stores } from './connection.js'
import { IndexedDbError } from './failures.js'
import { keyRange, resultOf } from './platform.js'

/** `ping` resolves if the database can be read. */
export interface IndexedDbStorage extends DurableStorage {}

export function createStorage(
  name: string,
  timeoutMs: number,
  { run, close }: Connection,
): OpenedStorage {
  return {
    insert: async (pet, isGone) => (await insert({ pet, now: 0 }, isGone)).pet,
    insertOnce: (pet, once, now, isGone) => insert({ pet, once, now }, isGone),
    find: async id =>
      Number.isSafeInteger(id)
        ? run('readonly', ['pets'], ({ pets }) => resultOf(pets.get(id)))
        : undefined,
    list: ({ limit, status, after = 0 }) =>
      run('readonly', ['pets'], ({ pets }) => {
        if (status === undefined)
          return resultOf(pets.getAll(keyRange.lowerBound(after, true), limit))
        const range = keyRange.bound([status, after], [status, Number.MAX_SAFE_INTEGER], true)
        return resultOf(pets.index('status').getAll(range, limit))
      }),
    dump: () =>
      run('readonly', ['ids', 'keys', 'pets'], async ({ ids, keys, pets }) => {
        const [nextId, all, idempotencyKeys] = await Promise.all([
          readNextId(ids),
          resultOf(pets.getAll()),
          // Animals never change, so this is the order in which the keys were used.
          resultOf(keys.index('petId').getAll()),
        ])
        return { pets: all, nextId, ...(idempotencyKeys.length > 0 && { idempotencyKeys }) }
      }),
    async replace(content, options, wanted) {
      const snapshot = await snapshotOf(content, options)
      const { nextId, pets, idempotencyKeys = [] } = createPetIndex(snapshot).dump()
      const write = async (stores: Stores) => {
        if (!wanted(await readNextId(stores.ids))) return false
        stores.pets.clear()
        stores.keys.clear()
        for (const pet of pets) stores.pets.add(pet)
        for (const used of idempotencyKeys) stores.keys.add(used)
        stores.ids.put(nextId, 'next')
        return true
      }
      // Allows 1 ms per animal, besides the wait for others.
      return run('readwrite', ['ids', 'keys', 'pets'], write, timeoutMs + pets.length)
    },
    async ping() {
      await run('readonly', ['ids'], ({ ids }) => readNextId(ids))
    },
    close,
  }

  function insert({ pet, once, now }: Insert, isGone?: IsGone): Promise<InsertedOnce> {
    return run('readwrite', ['ids', 'keys', 'pets'], async stores => {
      const id = await readNextId(stores.ids)
      if (isGone?.()) throw callerGone()
      const known = once && (await findOnce(stores, once, now))
      if (known) return known
      if (id === Number.MAX_SAFE_INTEGER) {
        throw new IndexedDbError(name, 'has assigned its last id; no more animals fit')
      }
      const inserted = toPet(id, pet)
      stores.pets.add(inserted)
      stores.ids.put(id + 1, 'next')
      if (once) await useKey(stores, { ...once, petId: id }, now)
      return { pet: inserted, fingerprint: once?.fingerprint ?? '', replayed: false }
    })
  }
}

async function readNextId(ids: Stores['ids']): Promise<number> {
  return (await resultOf(ids.get('next'))) ?? 1
}

async function findOnce(
  { keys, pets }: Stores,
  { scope, idempotencyKey }: Once,
  now: number,
): Promise<InsertedOnce | undefined> {
  const used: UsedKey | undefined = await resultOf(keys.get([scope, idempotencyKey]))
  if (!used || now >= used.expiresAt) return undefined
  const pet = await resultOf(pets.get(used.petId))
  return { pet, fingerprint: used.fingerprint, replayed: true }
}

/** Drops at most two expired keys: no insert waits for many, and more are dropped than added. */
async function useKey({ keys }: Stores, used: UsedKey, now: number): Promise<void> {
  const expired = await resultOf(keys.index('expiresAt').getAllKeys(keyRange.upperBound(now), 2))
  for (const key of expired) keys.delete(key)
  keys.put(used)
}
