import type { Awaitable } from './awaitable.js'
import type { NewPet, Pet } from './model.js'
import type { Policy } from './plans.js'
import type { Decision, Usage } from './rate-limit.js'
import type { PetStatus } from './specification.js'

/** Now, in ms since the Unix epoch. */
export type Clock = () => number

/** What `PetStorage.list` is asked for: at most `limit` pets with an id above `after`. */
export interface PetFilter {
  readonly limit: number
  readonly status?: PetStatus | undefined
  readonly after?: number | undefined
}

/** All that a storage holds, as plain data. */
export interface PetSnapshot {
  readonly pets: readonly Pet[]
  readonly nextId: number
}

/**
 * Where pets live. Every method is atomic; a rejected insert leaves no trace; what comes back is
 * frozen, or a copy that nobody else holds. What a storage knows it may return at once, without a
 * promise, and throw instead of rejecting. `test/storage-suite.ts` is this contract as tests.
 */
export interface PetStorage {
  /**
   * Gives the next id (positive, ascending, never given before) and resolves when the pet is
   * durable.
   */
  insert(pet: NewPet): Awaitable<Pet>
  find(id: number): Awaitable<Pet | undefined>
  /** Pets in ascending id. */
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Awaitable<PetSnapshot>
  /** Replaces everything, or nothing when it rejects. */
  restore(snapshot: PetSnapshot): Awaitable<void>
}

/**
 * Where usage is counted. One atomic operation, never get and set, so that no two requests share a
 * unit.
 */
export interface RateLimitStore {
  /** Asks for one unit of the partition's budget: `decide` of rate-limit.ts on its usage. */
  consume(partition: string, policy: Policy, now: number): Awaitable<Decision>
  /** What is counted for a partition, without counting; undefined when nothing is. */
  inspect(partition: string): Awaitable<Usage | undefined>
  /** Forgets one partition, its ban included, or every one. */
  reset(partition?: string): Awaitable<void>
  /** Every partition with its usage: ids and numbers, never a key. */
  dump(): Awaitable<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Awaitable<void>
}

export type RateLimitSnapshot = readonly (readonly [partition: string, usage: Usage])[]
