import { invalidRequest } from '../../src/errors.js'
import { lazy } from '../../src/lazy.js'
import type { PetSnapshot, RateLimitSnapshot } from '../../src/ports.js'
import type { ArmedFault } from './faults.js'
import type { JournalState } from './journal.js'

/**
 * All that a double holds but its keys, as plain data; `toJson` writes it, `parseJson` reads it.
 */
export interface Snapshot extends PetSnapshot {
  readonly name?: string | undefined
  readonly clock: { readonly now: number; readonly frozen: boolean }
  /** What is counted for whom, bans included. */
  readonly usage: RateLimitSnapshot
  readonly faults: readonly ArmedFault[]
  readonly journal: JournalState
}

/** A snapshot that may come from anywhere. @throws ApiError `invalid_request` naming the field */
export async function checkSnapshot(value: unknown): Promise<Snapshot> {
  const { snapshotSchema, describeIssues } = await schema()
  const parsed = snapshotSchema.safeParse(value)
  if (!parsed.success)
    throw invalidRequest(`Not a snapshot: ${describeIssues(parsed.error, value)}`)
  return parsed.data
}

const schema = lazy(async () => ({
  ...(await import('./snapshot-schema.js')),
  ...(await import('../../src/model.js')),
}))
