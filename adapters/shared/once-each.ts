import type { NewPet } from '../../src/pets/schema.js'
import type { InsertedOnce, Once } from '../../src/ports.js'
import type { Waiting } from './batches.js'
import { createUsedKeys } from './used-keys.js'

/** An insert with a key. */
export interface KeyedInsert {
  readonly pet: NewPet
  readonly once: Once
  /** ms since the epoch */
  readonly now: number
}

/**
 * A `run` of batches for a storage that cannot take one key twice in a batch: an insert that repeats
 * an earlier one of its batch gets the same answer, as a replay. If the key of the earlier one is over by then,
 * it is inserted by a second call.
 *
 * @param insert answers inserts of different keys, in order
 */
export function onceEach(
  insert: (inserts: readonly KeyedInsert[]) => Promise<readonly InsertedOnce[]>,
): (batch: readonly Waiting<KeyedInsert, InsertedOnce>[]) => Promise<void> {
  return async function run(batch) {
    const first: Waiting<KeyedInsert, InsertedOnce>[] = []
    const repeated: { readonly at: number; readonly resolve: (answer: InsertedOnce) => void }[] = []
    const late: Waiting<KeyedInsert, InsertedOnce>[] = []
    const keys = createUsedKeys()
    for (const waiting of batch) {
      const { once, now } = waiting.item
      // `petId` stands for the position in `first`.
      const earlier = keys.find(once, NEVER)
      if (!earlier) {
        keys.add({ ...once, petId: first.length }, NEVER)
        first.push(waiting)
      } else if (now < earlier.expiresAt) {
        repeated.push({ at: earlier.petId, resolve: waiting.resolve })
      } else late.push(waiting)
    }
    const answers = await insert(first.map(({ item }) => item))
    for (const [at, { resolve }] of first.entries()) resolve(answers[at] as InsertedOnce)
    for (const { at, resolve } of repeated) {
      resolve({ ...(answers[at] as InsertedOnce), replayed: true })
    }
    if (late.length > 0) await run(late)
  }
}

/** In a batch, no key is over. */
const NEVER = Number.NEGATIVE_INFINITY
