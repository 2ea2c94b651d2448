import type { ApiHandler, ApiRequest, ApiResponse } from './api.js'
import { bearerToken } from './api-keys.js'
import { readBody } from './body.js'
import { type ApiError, notFound, toApiError } from './errors.js'
import { petToJson } from './json.js'
import type { Meter, Visit } from './metering.js'
import type { NewPet, Pet } from './model.js'
import type { Pets } from './pets.js'
import type { Clock } from './ports.js'
import { type ListPetsQuery, parseListPetsQuery } from './query.js'
import { type HeaderOptions, type Headers, responseHeaders } from './response-headers.js'
import { createRouter, type Route } from './route.js'
import { type Operation, PAGE_SIZE } from './specification.js'
import { utf8Length } from './utf8.js'

export interface ProtocolOptions extends HeaderOptions {
  readonly pets: Pets
  readonly meter: Meter
  readonly clock: Clock
  readonly maxBodyBytes: number
}

/** A request on its way: what is found out about it is kept, also for the answer to a failure. */
interface Exchange extends Visit {
  readonly request: ApiRequest
  readonly operation: Operation | undefined
}

/** JSON text with its length in UTF-8 bytes. */
interface Content {
  readonly text: string
  readonly bytes: number
}

interface Answer {
  readonly status: number
  readonly content?: Content
  readonly headers?: Headers | undefined
}

/**
 * The whole protocol as one function from a request to a response: preflight, then 401, then 429,
 * then 404 and 405, then the body (413, 415, 400), then the operation. Every failure on the way is
 * thrown, and caught once.
 */
export function createProtocol(options: ProtocolOptions): ApiHandler {
  const { pets, meter, clock, basePath, cors, pagination, maxBodyBytes } = options
  const routeOf = createRouter(basePath)
  const headers = responseHeaders(options)

  return {
    basePath,
    maxBodyBytes,
    async handle(request) {
      const { refusal } = request
      const route = routeOf(request.method, request.path) ?? (refusal && { failure: refusal })
      const exchange: Exchange = {
        request,
        operation: route?.operation,
        token: bearerToken(request.headers['authorization']),
        client: request.client,
        now: Number.NaN,
      }
      let outcome: Answer
      try {
        outcome = await answer(exchange, route)
      } catch (thrown) {
        outcome = failure(toApiError(thrown))
      }
      return respond(exchange, outcome)
    },
  }

  async function answer(exchange: Exchange, route: Route | undefined): Promise<Answer> {
    const { request } = exchange
    exchange.now = clock()
    if (!route) throw notFound(`The API is served below ${basePath}.`)
    if (cors && !request.refusal && isPreflight(request))
      return { status: 204, headers: headers.preflight }
    await meter.count(exchange)
    if (request.refusal) throw request.refusal
    meter.authenticate(exchange)
    if (route.failure) throw route.failure
    if (route.operation === 'listPets') return listPets(request)
    if (route.operation === 'createPet') return createPet(request)
    return getPet(route.petId)
  }

  async function listPets(request: ApiRequest): Promise<Answer> {
    const query = parseListPetsQuery(request.query, pagination)
    const page = await pets.listPets(query)
    const next = pagination ? await nextPage(query, page) : undefined
    return { status: 200, content: pageContent(page), headers: next && headers.next(next) }
  }

  async function nextPage(query: ListPetsQuery, page: readonly Pet[]) {
    const { limit = PAGE_SIZE.default, status } = query
    const after = page[limit - 1]?.id
    if (after === undefined) return undefined
    const [more] = await pets.listPets({ limit: 1, status, after })
    return more && { limit, status, after }
  }

  async function createPet(request: ApiRequest): Promise<Answer> {
    // `pets` checks what the body really is.
    const pet = await pets.createPet((await readBody(request, maxBodyBytes)) as NewPet)
    return { status: 201, content: measured(petToJson(pet)) }
  }

  async function getPet(petId: number): Promise<Answer> {
    return { status: 200, content: measured(petToJson(await pets.getPet(petId))) }
  }

  function respond(exchange: Exchange, { status, content, headers: own }: Answer): ApiResponse {
    const { request, operation, decision, key, now } = exchange
    return {
      status,
      headers: headers.of({ now, bytes: content?.bytes, decision, operation, own }),
      body: content === undefined || request.method === 'HEAD' ? '' : content.text,
      about: { operation, key: key && { id: key.id, plan: key.plan } },
    }
  }
}

function failure({ code, message, status, headers }: ApiError): Answer {
  return { status, content: measured(JSON.stringify({ code, message, status })), headers }
}

/**
 * Texts of pages that cannot change any more: a storage may give the same frozen page again and
 * again.
 */
const pageContents = new WeakMap<readonly Pet[], Content>()

function pageContent(page: readonly Pet[]): Content {
  const kept = pageContents.get(page)
  if (kept) return kept
  const content = measured(`[${page.map(petToJson).join(',')}]`)
  if (Object.isFrozen(page)) pageContents.set(page, content)
  return content
}

function measured(text: string): Content {
  return { text, bytes: utf8Length(text) }
}

/** Fetch standard, "CORS-preflight request". */
function isPreflight({ method, headers }: ApiRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers['origin'] !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
