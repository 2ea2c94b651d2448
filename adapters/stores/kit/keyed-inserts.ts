import type { NewPet } from '../../../src/pets/schema.js'
import type { Once } from '../../../src/pets/used-key.js'
import type { InsertedOnce } from '../../../src/ports.js'
import { stillWaited, type Waiting } from './batches.js'

export interface Insert {
  readonly pet: NewPet
  readonly once?: Once
  /** In ms since the epoch; read only with a key. */
  readonly now: number
}

export interface KeyedInsert extends Insert {
  readonly once: Once
}

interface Groups<I> {
  readonly first: Waiting<I, InsertedOnce>[]
  /** They get the answer of an insert in `first`. */
  readonly repeated: { readonly at: number; readonly resolve: (answer: InsertedOnce) => void }[]
  /** The key of an earlier insert has expired. */
  readonly late: Waiting<I, InsertedOnce>[]
}

/**
 * For a storage that cannot take one key twice in a batch: a repeated insert is a replay, or is
 * inserted by a second call if the earlier key has expired.
 * @param insert answers inserts of different keys, in order, for which somebody still waits
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
  const seen = new Map<string, { readonly at: number; readonly expiresAt: number }>()
  for (const waiting of batch) {
    const { once, now } = waiting.item
    const key = once ? JSON.stringify([once.scope, once.idempotencyKey]) : ''
    const earlier = seen.get(key)
    if (!earlier) {
      if (once) seen.set(key, { at: first.length, expiresAt: once.expiresAt })
      first.push(waiting)
    } else if (now < earlier.expiresAt) {
      repeated.push({ at: earlier.at, resolve: waiting.resolve })
    } else late.push(waiting)
  }
  return groups
}
