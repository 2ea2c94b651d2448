import type { NewPet } from '../../../src/pets/schema.js'
import type { Once } from '../../../src/pets/used-key.js'
import type { InsertedOnce } from '../../../src/ports.js'
import { stillWaited, type Waiting } from './batches.js'
import { createUsedKeys } from './used-keys.js'

/** An insert, with or without a key. */
export interface Insert {
  readonly pet: NewPet
  readonly once?: Once
  /** In ms since the epoch; read only with a key. */
  readonly now: number
}

export interface KeyedInsert extends Insert {
  readonly once: Once
}

/** A batch of them, by what to do with each. */
interface Groups<I> {
  readonly first: Waiting<I, InsertedOnce>[]
  /** Those that get the answer of the one at a position in `first`. */
  readonly repeated: { readonly at: number; readonly resolve: (answer: InsertedOnce) => void }[]
  /** Those that come when the key of an earlier one is over. */
  readonly late: Waiting<I, InsertedOnce>[]
}

/**
 * A `run` of batches for a storage that cannot take one key twice in a batch: an insert that repeats
 * an earlier one of its batch gets the same answer, as a replay. If the key of the earlier one is over by then,
 * it is inserted by a second call.
 *
 * @param insert answers inserts of different keys, in order: those that somebody still waits for when it asks
 * for them first, which may be none
 */
export function onceEach<I extends Insert>(
  insert: (inserts: () => readonly I[]) => Promise<readonly InsertedOnce[]>,
): (batch: readonly Waiting<I, InsertedOnce>[]) => Promise<void> {
  return async function run(batch) {
    let groups: Groups<I> | undefined
    const grouped = () => (groups ??= group(stillWaited(batch)))
    const answers = await insert(() => grouped().first.map(({ item }) => item))
    const { first, repeated, late } = grouped()
    for (const [at, { resolve }] of first.entries()) resolve(answers[at] as InsertedOnce)
    for (const { at, resolve } of repeated) {
      resolve({ ...(answers[at] as InsertedOnce), replayed: true })
    }
    if (late.length > 0) await run(late)
  }
}

function group<I extends Insert>(batch: readonly Waiting<I, InsertedOnce>[]): Groups<I> {
  const groups: Groups<I> = { first: [], repeated: [], late: [] }
  const { first, repeated, late } = groups
  const keys = createUsedKeys()
  for (const waiting of batch) {
    const { once, now } = waiting.item
    // `petId` stands for the position in `first`.
    const earlier = once && keys.find(once, NEVER)
    if (!earlier) {
      if (once) keys.add({ ...once, petId: first.length }, NEVER)
      first.push(waiting)
    } else if (now < earlier.expiresAt) {
      repeated.push({ at: earlier.petId, resolve: waiting.resolve })
    } else late.push(waiting)
  }
  return groups
}

/** In a batch, no key is over. */
const NEVER = Number.NEGATIVE_INFINITY
