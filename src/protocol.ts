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
import { createRouter } from './route.js'
import { type Operation, PAGE_SIZE } from './specification.js'
import { isAscii, utf8Length } from './utf8.js'

export interface ProtocolOptions extends HeaderOptions {
  readonly pets: Pets
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
  const { pets, meter, clock, basePath, cors, pagination, maxBodyBytes } = options
  const routeOf = createRouter(basePath)
  const headersOf = responseHeaders(options)
  const queryOf = remembered((text: string) => parseListPetsQuery(text, pagination))

  return {
    basePath,
    maxBodyBytes,
    async handle(request) {
      const { method, path, headers, client, refusal } = request
      const route = routeOf(method, path)
      const visit: Visit = {
        token: bearerToken(headers['authorization']),
        client,
        now: Number.NaN,
        key: undefined,
        decision: undefined,
      }
      let answer: Answer
      try {
        visit.now = clock()
        if (!route && !refusal) throw notFound(`The API is served below ${basePath}.`)
        if (cors && !refusal && isPreflight(request)) {
          return respond(request, undefined, visit, PREFLIGHT)
        }
        // Usage counted in this process is known at once, and an await would cost more than it.
        const counting = meter.count(visit)
        if (counting) await counting
        if (refusal) throw refusal
        meter.authenticate(visit)
        if (!route || route.failure) throw route?.failure
        if (route.operation === 'getPet') {
          answer = petAnswer(200, await pets.getPet(route.petId))
        } else if (route.operation === 'createPet') {
          // `pets` checks what the body really is.
          const body = (await readBody(request, maxBodyBytes)) as NewPet
          answer = petAnswer(201, await pets.createPet(body))
        } else {
          const query = queryOf(request.query)
          const page = await pets.listPets(query)
          const next = pagination ? await nextPage(query, page) : undefined
          answer = { status: 200, content: pageContent(page), headers: next }
        }
      } catch (thrown) {
        answer = failure(toApiError(thrown))
      }
      return respond(request, route?.operation, visit, answer)
    },
  }

  async function nextPage(query: ListPetsQuery, page: readonly Pet[]) {
    const { limit = PAGE_SIZE.default, status } = query
    const after = page[limit - 1]?.id
    if (after === undefined) return undefined
    const [more] = await pets.listPets({ limit: 1, status, after })
    return more && headersOf.next({ limit, status, after })
  }

  function respond(
    { method }: ApiRequest,
    operation: Operation | undefined,
    { now, key, decision }: Visit,
    { status, content, headers: own }: Answer,
  ): ApiResponse {
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

function failure({ code, message, status, headers }: ApiError): Answer {
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

function petAnswer(status: 200 | 201, pet: Pet): Answer {
  const text = petToJson(pet)
  // Only the name can have anything else: the rest need not be looked at.
  const content = isAscii(pet.name) ? { text, bytes: text.length } : measured(text)
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
