import type { ApiHandler, ApiRequest, ApiResponse } from './api.js'
import { bearerToken } from './api-keys.js'
import { type Awaitable, chain, isPromise } from './awaitable.js'
import { readBody } from './body.js'
import { notFound, toApiError } from './errors.js'
import { isPlain, petToJson } from './json.js'
import type { Meter, Visit } from './metering.js'
import type { NewPet, Pet } from './model.js'
import type { PetOperations } from './pets.js'
import type { Clock, PetFilter } from './ports.js'
import { checkListPetsQuery, parseListPetsQuery } from './query.js'
import { type HeaderOptions, type Headers, responseHeaders } from './response-headers.js'
import { createRouter, type OperationRoute, type Route } from './route.js'
import { utf8Length } from './utf8.js'

export interface ProtocolOptions extends HeaderOptions {
  readonly operations: PetOperations
  readonly meter: Meter
  readonly clock: Clock
  readonly maxBodyBytes: number
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
  const { operations, meter, clock, basePath, cors, pagination, maxBodyBytes } = options
  const routeOf = createRouter(basePath)
  const headersOf = responseHeaders(options)
  const filterOf = remembered((text: string) =>
    checkListPetsQuery(parseListPetsQuery(text, pagination), pagination),
  )

  return {
    basePath,
    maxBodyBytes,
    handle(request) {
      const route = routeOf(request.method, request.path)
      const visit: Visit = {
        token: bearerToken(request.headers['authorization']),
        client: request.client,
        now: Number.NaN,
        key: undefined,
        decision: undefined,
      }
      let answer: Awaitable<Answer>
      try {
        answer = answerTo(request, route, visit)
      } catch (thrown) {
        answer = failure(thrown)
      }
      return isPromise(answer)
        ? respondLater(request, route, visit, answer)
        : respond(request, route, visit, answer)
    },
  }

  function answerTo(
    request: ApiRequest,
    route: Route | undefined,
    visit: Visit,
  ): Awaitable<Answer> {
    visit.now = clock()
    if (!request.refusal) {
      if (!route) throw notFound(`The API is served below ${basePath}.`)
      if (cors && isPreflight(request)) return PREFLIGHT
    }
    const counting = meter.count(visit)
    return isPromise(counting)
      ? counting.then(() => admitted(request, route, visit))
      : admitted(request, route, visit)
  }

  function admitted(
    request: ApiRequest,
    route: Route | undefined,
    visit: Visit,
  ): Awaitable<Answer> {
    if (request.refusal) throw request.refusal
    meter.authenticate(visit)
    if (!route || route.failure) throw route?.failure
    return operate(route, request, visit.now)
  }

  function operate(route: OperationRoute, request: ApiRequest, now: number): Awaitable<Answer> {
    switch (route.operation) {
      case 'getPet':
        return chain(operations.find(route.petId, now), found)
      case 'createPet':
        return chain(readBody(request, maxBodyBytes), create)
      case 'listPets': {
        // A copy, as what is remembered is for others as well.
        const filter = { ...filterOf(request.query) }
        const page = operations.list(filter)
        return pagination ? linkedAnswer(filter, page) : chain(page, pageAnswer)
      }
    }
  }

  function create(body: unknown): Awaitable<Answer> {
    // It checks what the body really is.
    return chain(operations.create(body as NewPet), created)
  }

  /** With a `Link` to the page after it, if there is one. */
  async function linkedAnswer(
    { limit, status }: PetFilter,
    listed: Awaitable<readonly Pet[]>,
  ): Promise<Answer> {
    const page = await listed
    const after = page[limit - 1]?.id
    const [more] = after === undefined ? [] : await operations.list({ limit: 1, status, after })
    if (after === undefined || !more) return pageAnswer(page)
    return { ...pageAnswer(page), headers: headersOf.next({ limit, status, after }) }
  }

  /** A function of its own: what `handle` closes over would cost those as well who wait for nothing. */
  function respondLater(
    request: ApiRequest,
    route: Route | undefined,
    visit: Visit,
    answer: Promise<Answer>,
  ): Promise<ApiResponse> {
    return answer.catch(failure).then(answer => respond(request, route, visit, answer))
  }

  function respond(
    { method }: ApiRequest,
    route: Route | undefined,
    { now, key, decision }: Visit,
    { status, content, headers: own }: Answer,
  ): ApiResponse {
    const operation = route?.operation
    return {
      status,
      headers: headersOf.answer(now, content?.bytes, decision, operation, own),
      body: content === undefined || method === 'HEAD' ? '' : content.text,
      about: { operation, key },
    }
  }
}

/** It is of no key and counts against no budget (Fetch standard, "CORS protocol"). */
const PREFLIGHT: Answer = {
  status: 204,
  headers: {
    'Access-Control-Allow-Methods': 'GET, HEAD, POST',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': '86400',
  },
}

function failure(thrown: unknown): Answer {
  const { code, message, status, headers } = toApiError(thrown)
  return { status, content: measured(JSON.stringify({ code, message, status })), headers }
}

/** Clients ask for the same few pages again and again. */
function remembered<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return text => {
    const kept = known.get(text)
    if (kept !== undefined) return kept
    if (known.size === 256) known.clear()
    const parsed = parse(text)
    known.set(text, parsed)
    return parsed
  }
}

/**
 * Answers of pages that cannot change any more: a storage may give the same frozen page again and
 * again.
 */
const pageAnswers = new WeakMap<readonly Pet[], Answer>()

function pageAnswer(page: readonly Pet[]): Answer {
  const kept = pageAnswers.get(page)
  if (kept) return kept
  const answer = { status: 200, content: measured(`[${page.map(petToJson).join(',')}]`) }
  if (Object.isFrozen(page)) pageAnswers.set(page, answer)
  return answer
}

function found(pet: Pet): Answer {
  return petAnswer(200, pet)
}

function created(pet: Pet): Answer {
  return petAnswer(201, pet)
}

function petAnswer(status: 200 | 201, pet: Pet): Answer {
  const text = petToJson(pet)
  // Only the name can have anything else: the rest need not be looked at.
  const content = isPlain(pet.name) ? { text, bytes: text.length } : measured(text)
  return { status, content }
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
