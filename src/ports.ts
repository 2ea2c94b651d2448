import type { Awaitable } from './lib/async.js'
import type { Limits } from './limits/plans.js'
import type { Decision, Usage } from './limits/windows-and-bans.js'
import type { NewPet, Pet } from './pets/schema.js'
import type { PetStatus } from './pets/specification.js'
import type { Once, UsedKey } from './pets/used-key.js'

export type { Once, UsedKey }

/** Returns the time in ms since the Unix epoch. */
export type Clock = () => number

/** Returns true once the caller has disconnected, and never false again. */
export type IsGone = () => boolean

/** At most `limit` pets with an id above `after`. With `pagination`, a page of 100 asks for 101. */
export interface PetFilter {
  readonly limit: number
  readonly status?: PetStatus | undefined
  readonly after?: number | undefined
}

export interface PetSnapshot {
  readonly pets: readonly Pet[]
  /** Greater than every id, and at most `Number.MAX_SAFE_INTEGER`, which is never assigned. */
  readonly nextId: number
  /** Per scope, in order of first use. */
  readonly idempotencyKeys?: readonly UsedKey[] | undefined
}

export interface InsertedOnce {
  readonly pet: Pet
  /** Fingerprint of the create that stored the pet, for the caller to compare. */
  readonly fingerprint: string
  /** True if an earlier create stored the pet. */
  readonly replayed: boolean
}

/**
 * Stores pets. Every method is atomic, a rejected insert leaves no trace, and results are frozen or
 * copies. The subpath `./storage-suite` tests this contract.
 */
export interface PetStorage {
  /**
   * Assigns the next id (positive, ascending, never reused) and resolves once the pet is durable.
   * @param isGone asked before a queued insert begins; true cancels it
   */
  insert(pet: NewPet, isGone?: IsGone): Awaitable<Pet>
  /**
   * Inserts the pet and its key in one step; if the key is in use, inserts nothing and returns the
   * stored pet. Of concurrent calls with the same scope and key, from any process, one inserts. A
   * key is in use until `now` reaches its `expiresAt`. Required for the store option `idempotency`.
   * @param now ms since the epoch
   */
  insertOnce?(pet: NewPet, once: Once, now: number, isGone?: IsGone): Awaitable<InsertedOnce>
  find(id: number): Awaitable<Pet | undefined>
  /** Sorted by ascending id. */
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Awaitable<PetSnapshot>
  /** Replaces everything, or rejects and changes nothing. Drops keys whose pet is missing. */
  restore(snapshot: PetSnapshot): Awaitable<void>
  /** Opens the storage, as the first use would. After a rejection, the next call tries again. */
  ready?(): Awaitable<void>
}

/** Counts usage in one atomic operation, never get and set. */
export interface RateLimitStore {
  /** Applies `decide` to the usage of one partition, and stores the result. */
  consume(partition: string, limits: Limits, now: number): Awaitable<Decision>
  /** Returns the usage of a partition without counting; undefined if there is none. */
  inspect(partition: string): Awaitable<Usage | undefined>
  /** Forgets one partition and its ban, or all of them. */
  reset(partition?: string): Awaitable<void>
  /** Returns the usage of every partition. Partitions contain key ids, never keys. */
  dump(): Awaitable<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Awaitable<void>
  /** Names the server of a partition, so that only its partitions fall back when it fails. */
  serverOf?(partition: string): string
  /** Like `ready` of `PetStorage`. */
  ready?(): Awaitable<void>
}

export type RateLimitSnapshot = readonly (readonly [partition: string, usage: Usage])[]
