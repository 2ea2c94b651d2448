import { type Awaitable, chain } from '../lib/async.js'
import type { Idempotency, PetOperations } from '../pets/operations.js'
import { createQueryReader } from '../pets/query.js'
import type { Pet } from '../pets/schema.js'
import type { PetFilter } from '../ports.js'
import type { KnownKey } from './api-keys.js'
import type { ApiRequest } from './api-request.js'
import { readBody } from './body.js'
import { readIdempotencyKey } from './idempotency-header.js'
import {
  pageRepresentation,
  petRepresentation,
  type Representation,
  type ResponseHeaders,
} from './response.js'
import type { OperationRoute } from './router.js'

export interface AnswerOptions {
  readonly maxBodyBytes: number
  readonly pagination: boolean
  readonly idempotency: Idempotency | null
}

/** Returns a function that answers an admitted request. It throws or rejects with the failure. */
export function createAnswers(
  operations: PetOperations,
  headersOf: Pick<ResponseHeaders, 'created' | 'next'>,
  { maxBodyBytes, pagination, idempotency }: AnswerOptions,
) {
  const readQuery = createQueryReader(pagination)

  return (
    route: OperationRoute,
    request: ApiRequest,
    now: number,
    knownKey: KnownKey | undefined,
  ): Awaitable<Representation> => {
    switch (route.operation) {
      case 'getPet':
        return chain(operations.getPet(route.petId, now), found)
      case 'createPet':
        return idempotency === null || request.headers['idempotency-key'] === undefined
          ? chain(readBody(request, maxBodyBytes), body => createPet(body, request))
          : createPetOnce(request, now, knownKey as KnownKey)
      case 'listPets': {
        const filter = readQuery(request.query)
        if (pagination) return listLinked(filter)
        const { limit } = filter
        return chain(operations.listPets(filter), page => pageRepresentation(page, limit))
      }
    }
  }

  function createPet(body: unknown, { isGone }: ApiRequest): Awaitable<Representation> {
    return chain(operations.createPet(body, isGone), pet =>
      petRepresentation(201, pet, headersOf.created(pet.id)),
    )
  }

  /** See draft-ietf-httpapi-idempotency-key-header-07. */
  function createPetOnce(request: ApiRequest, now: number, { id: scope }: KnownKey) {
    const { headers, isGone } = request
    if (Number.isNaN(now)) throw new RangeError('The clock failed, so no key can expire')
    const name = { scope, idempotencyKey: readIdempotencyKey(headers), now }
    return chain(readBody(request, maxBodyBytes), body =>
      chain(operations.createPetOnce(body, name, isGone), ({ pet, replayed }) => {
        const created = headersOf.created(pet.id)
        return petRepresentation(201, pet, replayed ? { ...created, ...REPLAYED } : created)
      }),
    )
  }

  /** Adds a `Link` to the next page if there is one more animal than asked for. */
  function listLinked(filter: PetFilter): Awaitable<Representation> {
    const { limit } = filter
    return chain(operations.listPets({ ...filter, limit: limit + 1 }), page => {
      const representation = pageRepresentation(page, limit)
      if (page.length <= limit) return representation
      const headers = headersOf.next({ ...filter, after: page[limit - 1]?.id })
      return { ...representation, headers }
    })
  }
}

const REPLAYED = { 'Idempotent-Replayed': 'true' }

function found(pet: Pet): Representation {
  return petRepresentation(200, pet)
}
