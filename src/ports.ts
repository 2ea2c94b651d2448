import type { Awaitable } from './lib/async.js'
import type { Decision, Usage } from './limits/decide.js'
import type { Policy } from './limits/plans.js'
import type { NewPet, Pet } from './pets/schema.js'
import type { PetStatus } from './pets/specification.js'

/** Now, in ms since the Unix epoch. */
export type Clock = () => number

/** Selects at most `limit` pets with an id above `after`. */
export interface PetFilter {
  readonly limit: number
  readonly status?: PetStatus | undefined
  readonly after?: number | undefined
}

/** The whole content of a storage, as plain data. */
export interface PetSnapshot {
  readonly pets: readonly Pet[]
  readonly nextId: number
}

/**
 * Where pets live. Every method is atomic, a rejected insert leaves no trace, and results are
 * frozen or copies. Methods may return a promise or the value itself. The subpath `./storage-suite`
 * is this contract as tests.
 */
export interface PetStorage {
  /** Assigns the next id (positive, ascending, never reused) and resolves when the pet is durable. */
  insert(pet: NewPet): Awaitable<Pet>
  find(id: number): Awaitable<Pet | undefined>
  /** Sorted by ascending id. */
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Awaitable<PetSnapshot>
  /** Replaces everything. A rejected restore changes nothing. */
  restore(snapshot: PetSnapshot): Awaitable<void>
}

/** Where usage is counted: one atomic operation, never get and set. */
export interface RateLimitStore {
  /** Applies `decide` to the usage of one partition and stores the result. */
  consume(partition: string, policy: Policy, now: number): Awaitable<Decision>
  /** The usage of a partition, without counting; undefined when there is none. */
  inspect(partition: string): Awaitable<Usage | undefined>
  /** Forgets one partition and its ban, or all of them. */
  reset(partition?: string): Awaitable<void>
  /** Every partition with its usage. Contains key ids, never keys. */
  dump(): Awaitable<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Awaitable<void>
}

export type RateLimitSnapshot = readonly (readonly [partition: string, usage: Usage])[]
