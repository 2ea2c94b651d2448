import type { Awaitable } from './lib/async.js'
import type { Limits } from './limits/plans.js'
import type { Decision, Usage } from './limits/windows-and-bans.js'
import type { NewPet, Pet } from './pets/schema.js'
import type { PetStatus } from './pets/specification.js'
import type { Once, UsedKey } from './pets/used-key.js'

export type { Once, UsedKey }

/** Now, in ms since the Unix epoch. */
export type Clock = () => number

/** Whether nobody waits for a call any more. It never becomes false again. */
export type IsGone = () => boolean

/** Selects at most `limit` pets with an id above `after`. */
export interface PetFilter {
  readonly limit: number
  readonly status?: PetStatus | undefined
  readonly after?: number | undefined
}

/** The whole content of a storage, as plain data. */
export interface PetSnapshot {
  readonly pets: readonly Pet[]
  /** Above every id, and at most `Number.MAX_SAFE_INTEGER`: the last pet gets the id below that. */
  readonly nextId: number
  /** Per scope, in order of first use. */
  readonly idempotencyKeys?: readonly UsedKey[] | undefined
}

/** The outcome of `insertOnce`. */
export interface InsertedOnce {
  readonly pet: Pet
  /** Of the create that stored the pet. The caller compares it with its own. */
  readonly fingerprint: string
  /** Whether an earlier create stored the pet. */
  readonly replayed: boolean
}

/**
 * Where pets live. Every method is atomic, a rejected insert leaves no trace, and results are
 * frozen or copies. Methods may return a promise or the value itself. The subpath `./storage-suite`
 * is this contract as tests.
 */
export interface PetStorage {
  /**
   * Assigns the next id (positive, ascending, never reused) and resolves when the pet is durable.
   *
   * @param isGone a storage whose inserts wait for others asks it before it begins with this one
   */
  insert(pet: NewPet, isGone?: IsGone): Awaitable<Pet>
  /**
   * Inserts the pet and its key in one step; if the key is in use, it inserts nothing and returns what
   * the key stored. Of concurrent calls with the same scope and key, from any process, one inserts.
   * A key is in use until `now` reaches its `expiresAt`. Storages without this method cannot serve
   * the store option `idempotency`.
   *
   * @param now ms since the epoch
   */
  insertOnce?(pet: NewPet, once: Once, now: number, isGone?: IsGone): Awaitable<InsertedOnce>
  find(id: number): Awaitable<Pet | undefined>
  /** Sorted by ascending id. */
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Awaitable<PetSnapshot>
  /** Replaces everything. A rejected restore changes nothing. Keys whose pet is missing are dropped. */
  restore(snapshot: PetSnapshot): Awaitable<void>
  /**
   * Opens the storage, which its first call does otherwise, and rejects with why it cannot be opened. A call after
   * a failure tries again. Storages without this method have nothing to open.
   */
  ready?(): Awaitable<void>
}

/** Where usage is counted: one atomic operation, never get and set. */
export interface RateLimitStore {
  /** Applies `decide` to the usage of one partition and stores the result. */
  consume(partition: string, limits: Limits, now: number): Awaitable<Decision>
  /** The usage of a partition, without counting; undefined when there is none. */
  inspect(partition: string): Awaitable<Usage | undefined>
  /** Forgets one partition and its ban, or all of them. */
  reset(partition?: string): Awaitable<void>
  /** Every partition with its usage. Contains key ids, never keys. */
  dump(): Awaitable<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Awaitable<void>
  /**
   * For counts spread over several servers: which of them has this partition. While one does not
   * answer, only its own partitions are counted by this process.
   */
  serverOf?(partition: string): string
  /** Opens the store, as `ready` of `PetStorage` does. */
  ready?(): Awaitable<void>
}

export type RateLimitSnapshot = readonly (readonly [partition: string, usage: Usage])[]
