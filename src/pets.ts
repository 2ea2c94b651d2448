import { ApiError, gone, invalidRequest, notFound, storageUnavailable } from './errors.js'
import type { Int64, NewPet, Pet } from './model.js'
import { onDemand } from './on-demand.js'
import type { Clock, PetStorage } from './ports.js'
import { checkListPetsQuery, type ListPetsQuery } from './query.js'
import type { PetStatus } from './specification.js'

/**
 * The operations of the specification (spec §4), the same for a store in this process and for a
 * remote one.
 */
export interface Pets {
  /** @throws ApiError `invalid_request`, `storage_unavailable` */
  createPet(pet: NewPet): Promise<Pet>
  /** In ascending id. @throws ApiError `invalid_request`, `storage_unavailable` */
  listPets(query?: ListPetsQuery): Promise<readonly Pet[]>
  /**
   * @throws ApiError `not_found`, `storage_unavailable`, and `gone` from the removal date on
   * @deprecated by the specification, to be removed on 5 December 2030: use `listPets` with a status
   */
  getPet(id: Int64): Promise<Pet>
}

export interface PetsOptions {
  readonly storage: PetStorage
  readonly clock: Clock
  readonly defaultStatus: PetStatus | null
  readonly sunset: number | null
  readonly pagination: boolean
  readonly onCreated: (pet: Pet) => void
}

const model = onDemand(() => import('./model.js'))

/** The operations over a storage: parse, call the port, return. */
export function createPets(options: PetsOptions): Pets {
  const { storage, clock, defaultStatus, sunset, pagination, onCreated } = options

  return {
    async createPet(input) {
      const loading = model()
      const { newPetSchema, describeIssues } = loading instanceof Promise ? await loading : loading
      const parsed = newPetSchema.safeParse(input)
      if (!parsed.success) throw invalidRequest(describeIssues(parsed.error, input))
      const { name, categoryId, status = defaultStatus } = parsed.data
      const pet = await stored(() =>
        storage.insert(status === null ? { name, categoryId } : { name, categoryId, status }),
      )
      onCreated(pet)
      return pet
    },
    listPets: (query = {}) =>
      promised(() => {
        const filter = checkListPetsQuery(query, pagination)
        return stored(() => storage.list(filter))
      }),
    getPet: id =>
      promised(() => {
        if (sunset !== null && clock() >= sunset) throw gone(sunset)
        const key = typeof id === 'bigint' ? Number(id) : id
        if (!Number.isSafeInteger(key) || key < 1) throw notFound(NO_PET)
        return stored(() => storage.find(key), existing)
      }),
  }
}

/**
 * What an async function does with what is thrown, without its cost: reads are chained, not
 * awaited.
 */
function promised<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call()
  } catch (error) {
    return Promise.reject(error)
  }
}

const NO_PET = 'There is no pet with this id.'

function existing(pet: Pet | undefined): Pet {
  if (!pet) throw notFound(NO_PET)
  return pet
}

/** A storage that fails is 503: nothing was acknowledged, and the next request may succeed. */
function stored<T>(call: () => Promise<T>): Promise<T>
function stored<T, U>(call: () => Promise<T>, result: (answer: T) => U): Promise<U>
function stored<T>(call: () => Promise<T>, result?: (answer: T) => T): Promise<T> {
  // Resolved first: a storage written in JavaScript may answer without a promise.
  const answer = promised(() => Promise.resolve(call()))
  return answer.then(result, unavailable)
}

function unavailable(error: unknown): never {
  throw error instanceof ApiError ? error : storageUnavailable(error)
}
