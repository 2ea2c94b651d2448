import { invalidRequest, notFound, toApiError } from '../errors.js'
import { type Awaitable, chain, orElse } from '../lib/async.js'
import type { PetOperations } from '../pets/operations.js'
import { createQueryReader } from '../pets/query.js'
import type { Pet } from '../pets/schema.js'
import type { Clock, PetFilter } from '../ports.js'
import { type Admission, type Gate, UNCOUNTED } from './admission.js'
import type { ApiHandler, ApiRequest, ApiResponse, Identity, RequestHead } from './api.js'
import { bearerToken, type KnownKey } from './api-keys.js'
import { readBody } from './body.js'
import { readIdempotencyKey } from './idempotency-key.js'
import {
  type Content,
  errorRepresentation,
  type HeaderOptions,
  pageRepresentation,
  petRepresentation,
  type Representation,
  responseHeaders,
} from './response.js'
import { createRouter, type OperationRoute } from './route.js'

export interface ProtocolOptions extends HeaderOptions {
  readonly clock: Clock
  readonly maxBodyBytes: number
  readonly pagination: boolean
}

export interface Protocol extends ApiHandler {
  /**
   * Tells which operation a request is for and whose key it carries. Counts nothing.
   *
   * @returns also the request to handle, with what was read of it
   */
  identify(request: ApiRequest): Identity & { readonly request: ApiRequest }
}

/**
 * The whole protocol as one function from a request to a response: preflight, then 401, then 429,
 * then 404 and 405, then the body (413, 415, 400), then the operation.
 */
export function createProtocol(
  operations: PetOperations,
  gate: Gate,
  options: ProtocolOptions,
): Protocol {
  const { clock, basePath, cors, pagination, maxBodyBytes, idempotency } = options
  const routeOf = createRouter(basePath)
  const headersOf = responseHeaders(options)
  const readQuery = createQueryReader(pagination)

  return {
    basePath,
    maxBodyBytes,
    identify(request) {
      const head = headOf(request)
      return {
        operation: head.route?.operation,
        key: gate.identify(head.token, readClock()),
        request: { ...request, head },
      }
    },
    handle(request) {
      const call = read(request)
      if (!call) return incomplete()
      return chain(
        orElse(() => admit(call), refused),
        admission =>
          chain(
            orElse(() => answer(call, admission), errorRepresentation),
            representation => respond(call, admission, representation),
          ),
      )
    },
  }

  /** Undefined for anything but a request, from a caller without types. */
  function read(request: ApiRequest): Call | undefined {
    try {
      const { route, token } = request.head ?? headOf(request)
      return { request, route, token, now: readClock() }
    } catch {
      return undefined
    }
  }

  function incomplete(): ApiResponse {
    const request = { method: '', path: '', query: '', headers: {} }
    const call = { request, route: undefined, token: undefined, now: readClock() }
    const error = invalidRequest('A request needs `method`, `path`, `query` and `headers`.')
    return respond(call, UNCOUNTED, errorRepresentation(error))
  }

  function headOf({ method, path, headers }: ApiRequest): RequestHead {
    return { route: routeOf(method, path), token: bearerToken(headers['authorization']) }
  }

  function admit({ request, route, token, now }: Call): Awaitable<Admission> {
    const { client, headers, refusal } = request
    // A request that could not be parsed has no path, but counts, so that its sender is limited too.
    const isOutside = !route && (!refusal || request.path !== '')
    if (isOutside || (!refusal && isPreflight(request))) return { ...UNCOUNTED, failure: refusal }
    return gate.admit({ token, client, now, refusal, headers })
  }

  function answer(
    { request, route, now }: Call,
    { failure, key }: Admission,
  ): Awaitable<Representation> {
    if (failure) throw failure
    if (!route) throw notFound(`The API is served below ${basePath}.`)
    if (isPreflight(request)) return PREFLIGHT
    if (route.failure) throw route.failure
    return operate(route, request, now, key)
  }

  function operate(
    route: OperationRoute,
    request: ApiRequest,
    now: number,
    key: KnownKey | undefined,
  ): Awaitable<Representation> {
    switch (route.operation) {
      case 'getPet':
        return chain(operations.getPet(route.petId, now), found)
      case 'createPet':
        return idempotency === null || request.headers['idempotency-key'] === undefined
          ? chain(readBody(request, maxBodyBytes), body => createPet(body, request))
          : createPetOnce(request, now, key as KnownKey)
      case 'listPets': {
        const filter = readQuery(request.query)
        const page = operations.listPets(filter)
        return pagination ? linked(filter, page, request.mount) : chain(page, pageRepresentation)
      }
    }
  }

  function createPet(body: unknown, { mount, isGone }: ApiRequest): Awaitable<Representation> {
    return chain(operations.createPet(body, isGone), pet =>
      petRepresentation(201, pet, headersOf.created(pet.id, mount)),
    )
  }

  /** draft-ietf-httpapi-idempotency-key-header-07. */
  function createPetOnce(
    request: ApiRequest,
    now: number,
    { id: scope }: KnownKey,
  ): Awaitable<Representation> {
    const { headers, mount, isGone } = request
    if (Number.isNaN(now)) throw new RangeError('The clock failed, so no key can expire')
    const name = { scope, key: readIdempotencyKey(headers), now }
    return chain(readBody(request, maxBodyBytes), body =>
      chain(operations.createPetOnce(body, name, isGone), ({ pet, replayed }) => {
        const created = headersOf.created(pet.id, mount)
        return petRepresentation(201, pet, replayed ? { ...created, ...REPLAYED } : created)
      }),
    )
  }

  /** Adds a `Link` to the next page, if there is one. */
  function linked(
    { limit, status }: PetFilter,
    listed: Awaitable<readonly Pet[]>,
    mount: string | undefined,
  ): Awaitable<Representation> {
    return chain(listed, page => {
      const representation = pageRepresentation(page)
      const after = page[limit - 1]?.id
      if (after === undefined) return representation
      return chain(operations.listPets({ limit: 1, status, after }), ([more]) => {
        if (!more) return representation
        return { ...representation, headers: headersOf.next({ limit, status, after }, mount) }
      })
    })
  }

  function respond(
    { request, route, now }: Call,
    admission: Admission,
    { status, content, headers: own }: Representation,
  ): ApiResponse {
    const { method, mount } = request
    const operation = route?.operation
    const hasOrigin = request.headers['origin'] !== undefined
    const bytes = content?.bytes
    const headers = headersOf.all({ now, bytes, admission, operation, own, mount, hasOrigin })
    const { key, shadowed } = admission
    const about = shadowed === undefined ? { operation, key } : { operation, key, shadowed }
    const outside = route === undefined
    if (content?.pieces && method !== 'HEAD') {
      return inPieces({ status, headers, about, outside }, content)
    }
    const body = content === undefined || method === 'HEAD' ? '' : content.text
    return { status, headers, body, about, outside }
  }

  /** NaN when the host's clock fails: no decision can be made, so the response is a 500. */
  function readClock(): number {
    try {
      const now: unknown = clock()
      return typeof now === 'number' ? now : Number.NaN
    } catch {
      return Number.NaN
    }
  }

  /** Fetch standard, "CORS-preflight request". */
  function isPreflight({ method, headers }: ApiRequest): boolean {
    return (
      cors &&
      method === 'OPTIONS' &&
      headers['origin'] !== undefined &&
      headers['access-control-request-method'] !== undefined
    )
  }
}

/** A request on its way through the protocol. */
interface Call extends RequestHead {
  readonly request: ApiRequest
  /** ms since the epoch: read once, and used for the whole response. */
  readonly now: number
}

const REPLAYED = { 'Idempotent-Replayed': 'true' }

/** Needs no key and costs no quota (Fetch standard, "CORS protocol"). */
const PREFLIGHT: Representation = {
  status: 204,
  headers: {
    'Access-Control-Allow-Methods': 'GET, HEAD, POST',
    // A wildcard does not cover Authorization.
    'Access-Control-Allow-Headers': 'Authorization, *',
    'Access-Control-Max-Age': '86400',
  },
}

function refused(thrown: unknown): Admission {
  return { ...UNCOUNTED, failure: toApiError(thrown) }
}

function found(pet: Pet): Representation {
  return petRepresentation(200, pet)
}

/** The whole text is built only when `body` is read. */
function inPieces(response: Omit<ApiResponse, 'body'>, content: Content): ApiResponse {
  return {
    ...response,
    pieces: content.pieces,
    get body() {
      return content.text
    },
  }
}
