import {
  ApiError,
  gone,
  idempotencyKeyReused,
  invalidRequest,
  notFound,
  storageUnavailable,
} from '../api-error.js'
import type { Emit } from '../events.js'
import { type Awaitable, chain, orElse } from '../lib/async.js'
import { fingerprint } from '../lib/fingerprint.js'
import type { Int64 } from '../lib/int64.js'
import type { Duration } from '../lib/time.js'
import type { InsertedOnce, IsGone, Once, PetFilter, PetStorage } from '../ports.js'
import { toNewPet } from './pet.js'
import type { ListPetsQuery } from './query.js'
import { describeIssues, type NewPet, newPetSchema, type Pet } from './schema.js'
import type { Operation, PetStatus } from './specification.js'

/** The operations of the specification (spec §4), for local and remote stores. */
export interface Pets {
  /** @throws ApiError `invalid_request`, `storage_unavailable` */
  createPet(pet: NewPet, options?: CreateOptions): Promise<Pet>
  /** Sorted by ascending id. @throws ApiError `invalid_request`, `storage_unavailable` */
  listPets(query?: ListPetsQuery): Promise<readonly Pet[]>
  /**
   * @throws ApiError `not_found`, `storage_unavailable`, and `gone` from the removal date on
   * @deprecated The specification removes it on 5 December 2030. Use `listPets` with a status.
   */
  getPet(id: Int64): Promise<Pet>
}

/**
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const store = createStore({ storage: memoryStorage(), apiKeys: {} })
 * const signal = AbortSignal.timeout(5_000)
 * await store.createPet({ name: 'Rex', categoryId: 1 }, { signal })
 */
export interface CreateOptions {
  /** Aborting drops an animal that is not being stored yet; the call rejects with the reason. */
  readonly signal?: Signal | undefined
}

/** The part of `AbortSignal` that the core uses, as the language itself has none. */
export interface Signal {
  readonly aborted: boolean
  readonly reason?: unknown
}

interface PetsOptions {
  readonly storage: PetStorage
  readonly defaultStatus: PetStatus | null
  readonly sunsetAt: number | null
  /** Its `ttl` is in ms. */
  readonly idempotency: { readonly ttl: number } | null
}

export interface Idempotency {
  /** Time that a key is kept. */
  readonly ttl: Duration
}

export type PetOperations = ReturnType<typeof createPetOperations>

/** The operations within the core, synchronous if the storage is. Times are in ms since the epoch. */
export function createPetOperations(
  { storage, defaultStatus, sunsetAt, idempotency }: PetsOptions,
  emit: Emit,
) {
  return {
    createPet(input: unknown, isGone?: IsGone): Awaitable<Pet> {
      const pet = toNewPet(parse(input), defaultStatus)
      const insert = () => chain(storage.insert(pet, isGone), announced)
      return orElse(insert, failed('createPet', isGone))
    },
    /** Creates the pet, or returns the one of the key. @throws `idempotency_key_reused` */
    createPetOnce(
      input: unknown,
      { scope, idempotencyKey, now }: Pick<Once, 'scope' | 'idempotencyKey'> & { now: number },
      isGone?: IsGone,
    ): Awaitable<InsertedOnce> {
      const parsed = parse(input)
      const pet = toNewPet(parsed, defaultStatus)
      // The fingerprint ignores `defaultStatus`, so that changing it does not break retries.
      const asked = fingerprintOf(parsed)
      const expiresAt = now + (idempotency?.ttl ?? 0)
      const once = { scope, idempotencyKey, fingerprint: asked, expiresAt }
      const { insertOnce } = storage as Required<PetStorage>
      return orElse(
        () =>
          chain(insertOnce.call(storage, pet, once, now, isGone), inserted => {
            if (inserted.fingerprint !== asked) throw idempotencyKeyReused()
            if (!inserted.replayed) announced(inserted.pet)
            return inserted
          }),
        failed('createPet', isGone),
      )
    },
    listPets: (filter: PetFilter): Awaitable<readonly Pet[]> =>
      orElse(() => storage.list(filter), failed('listPets')),
    getPet(id: Int64, now: number): Awaitable<Pet> {
      if (sunsetAt !== null && now >= sunsetAt) throw gone(sunsetAt)
      const key = typeof id === 'bigint' ? Number(id) : id
      if (!Number.isSafeInteger(key) || key < 1) throw notFound(NO_PET)
      return orElse(() => chain(storage.find(key), existing), failed('getPet'))
    },
  }

  function announced(pet: Pet): Pet {
    emit('pet.created', { pet })
    return pet
  }

  /** A failing storage is a 503: nothing was acknowledged, and a retry may succeed. */
  function failed(operation: Operation, isGone?: IsGone): (error: unknown) => never {
    return error => {
      const isOwn = error instanceof ApiError && error.code !== 'storage_unavailable'
      if (isOwn) throw error
      // The caller disconnected; the storage did not fail.
      if (!isGone?.()) emit('storage.failed', { operation, error })
      if (error instanceof ApiError) throw error
      throw storageUnavailable(error)
    }
  }
}

function parse(input: unknown): NewPet {
  const parsed = newPetSchema.safeParse(input)
  if (!parsed.success) throw invalidRequest(describeIssues(parsed.error, input))
  return parsed.data
}

/** The name comes last, because it may contain the separator. */
function fingerprintOf({ name, categoryId, status }: NewPet): string {
  return fingerprint(`${categoryId} ${status ?? ''} ${name}`)
}

const NO_PET = 'There is no pet with this id.'

function existing(pet: Pet | undefined): Pet {
  if (!pet) throw notFound(NO_PET)
  return pet
}
