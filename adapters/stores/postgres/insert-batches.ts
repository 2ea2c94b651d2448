import { randomUUID } from 'node:crypto'
import { toPet } from '../../../src/pets/pet.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Once } from '../../../src/pets/used-key.js'
import type { InsertedOnce, IsGone } from '../../../src/ports.js'
import { createBatches, type QueueLimits, stillWaited, type Waiting } from '../kit/batches.js'
import { type KeyedInsert, onceEach } from '../kit/keyed-inserts.js'
import { failInsert, inconsistent, isKeyTaken } from './failures.js'
import type { Database } from './pool.js'
import { columnsOf, type PetRow, readPet, toKey, toRow } from './rows.js'
import type { Statements } from './statements.js'

/** Inserts that wait together share a statement and its commit. @param writer a UUID */
export function createInserts(
  database: Database,
  statements: Statements,
  writer: string,
  queue: QueueLimits,
) {
  const limits = { ...LIMITS, queue }
  const once = onceEach(insertOnce)
  const inserts = createBatches<PetRow, number>(batch => insertBatch(batch).catch(failInsert), {
    ...limits,
    name: 'postgres.insert',
    sizeOf: ({ name }) => name.length,
  })
  const keyed = createBatches<KeyedInsert, InsertedOnce>(batch => once(batch).catch(failInsert), {
    ...limits,
    name: 'postgres.insert-once',
    sizeOf: ({ pet }) => pet.name.length,
  })
  let lastBatch = 0

  return {
    async insert(pet: NewPet, isGone?: IsGone): Promise<Pet> {
      return Object.freeze(toPet(await inserts.add(toRow(pet), isGone), pet))
    },
    insertOnce: (pet: NewPet, once: Once, now: number, isGone?: IsGone) =>
      keyed.add({ pet, once, now }, isGone),
    async idle(): Promise<void> {
      await Promise.all([inserts.idle(), keyed.idle()])
    },
  }

  async function insertBatch(batch: readonly Waiting<PetRow, number>[]): Promise<void> {
    const number = ++lastBatch
    let fixed: readonly Waiting<PetRow, number>[] | undefined
    // Fixed once connected: from then on the batch may be stored, and is resent unchanged.
    const left = () => (fixed ??= stillWaited(batch))
    const values = () => {
      const rows = left().map(({ item }) => item)
      return rows.length === 0 ? undefined : [...columnsOf(rows), writer, number]
    }
    let stored = await database.query(statements.insertBatch, values)
    if (left().length === 0) return
    if (stored.length === 0) stored = await database.query(statements.insertBatch, values)
    if (stored.length === 0) throw inconsistent()
    const first = Number(stored[0].first)
    for (const [at, { resolve }] of left().entries()) resolve(first + at)
  }

  async function insertOnce(left: () => readonly KeyedInsert[]): Promise<readonly InsertedOnce[]> {
    const batch = randomUUID()
    const keyColumns = () => {
      const keys = left().map(({ once }) => toKey(once))
      return [keys.map(({ scope }) => scope), keys.map(({ key }) => key)]
    }
    const times = () => left().map(({ now }) => now)
    const values = () => {
      const inserts = left()
      if (inserts.length === 0) return undefined
      const fingerprints = inserts.map(({ once }) => once.fingerprint)
      const ends = inserts.map(({ once }) => once.expiresAt)
      const pets = columnsOf(inserts.map(({ pet }) => toRow(pet)))
      return [...pets, ...keyColumns(), fingerprints, ends, times(), batch]
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await database.query(statements.insertOnce, values)
        const known: InsertedOnce[] = []
        let next: number | undefined
        for (const { n, fingerprint, replayed, first, ...row } of rows) {
          if (n === null) next = Number(first)
          else known[n - 1] = { pet: readPet(row), fingerprint, replayed: replayed === 'true' }
        }
        return left().map(({ pet, once: { fingerprint } }, at) => {
          if (known[at]) return known[at]
          if (next === undefined) throw inconsistent()
          return { pet: Object.freeze(toPet(next++, pet)), fingerprint, replayed: false }
        })
      } catch (error) {
        if (!isKeyTaken(error) || attempt === ATTEMPTS) throw error
        await database.query(statements.forget, [...keyColumns(), times()])
      }
    }
  }
}

/** Per batch, so that other processes get their turn. */
const LIMITS = { items: 500, size: 1_048_576 }
/** For a batch whose keys another process uses at the same time. */
const ATTEMPTS = 5
