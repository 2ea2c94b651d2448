import { notFound, toApiError } from '../api-error.js'
import { type Awaitable, chain, orElse } from '../lib/async.js'
import type { PetOperations } from '../pets/operations.js'
import type { Clock } from '../ports.js'
import { type AnswerOptions, createAnswers } from './answer-operation.js'
import { bearerToken } from './api-keys.js'
import type { ApiHandler, ApiRequest, ApiResponse, Identity, RequestHead } from './api-request.js'
import { type Admission, type AdmissionControl, UNCOUNTED } from './authenticate-and-count.js'
import {
  type Content,
  errorRepresentation,
  type HeaderOptions,
  type Representation,
  responseHeaders,
} from './response.js'
import { createRouter } from './router.js'

export interface ProtocolOptions extends HeaderOptions, AnswerOptions {
  readonly basePath: string
  readonly clock: Clock
}

export interface Protocol extends ApiHandler {
  /** Identifies operation and key, without counting. The returned request remembers both. */
  identify(request: ApiRequest): Identity & { readonly request: ApiRequest }
}

/** Handles a request: preflight, 401, 429, 404 and 405, the body (413, 415, 400), the operation. */
export function createProtocol(
  operations: PetOperations,
  admissionControl: AdmissionControl,
  options: ProtocolOptions,
): Protocol {
  const { clock, basePath, cors, maxBodyBytes } = options
  const routeOf = createRouter(basePath)
  const headersOf = responseHeaders(options)
  const answerOf = createAnswers(operations, headersOf, options)

  return {
    basePath,
    maxBodyBytes,
    identify(request) {
      const head = headOf(request)
      return {
        operation: head.route?.operation,
        knownKey: admissionControl.identify(head.token, readClock()),
        request: { ...request, head },
      }
    },
    handle(request) {
      const { route, token } = request.head ?? headOf(request)
      const call = { request, route, token, now: readClock() }
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

  function headOf({ method, path, headers }: ApiRequest): RequestHead {
    return { route: routeOf(method, path), token: bearerToken(headers['authorization']) }
  }

  function admit({ request, route, token, now }: Call): Awaitable<Admission> {
    const { client, headers, refusal } = request
    // An unparsable request has no path, but counts, so that its sender is limited too.
    const isOutside = !route && (!refusal || request.path !== '')
    if (isOutside || (!refusal && isPreflight(request))) return { ...UNCOUNTED, failure: refusal }
    return admissionControl.admit({ token, client, now, refusal, headers })
  }

  function answer({ request, route, now }: Call, { failure, knownKey }: Admission) {
    if (failure) throw failure
    if (!route) throw notFound(`The API is served below ${basePath}.`)
    if (isPreflight(request)) return PREFLIGHT
    if (route.failure) throw route.failure
    return answerOf(route, request, now, knownKey)
  }

  function respond(
    { request, route, now }: Call,
    admission: Admission,
    { status, content, headers: own }: Representation,
  ): ApiResponse {
    const { method } = request
    const operation = route?.operation
    const hasOrigin = request.headers['origin'] !== undefined
    const hasCors = allowsOrigins(request)
    const bytes = content?.bytes
    const headers = headersOf.all({ now, bytes, admission, operation, own, hasCors, hasOrigin })
    const { knownKey, shadowed } = admission
    const about =
      shadowed === undefined ? { operation, knownKey } : { operation, knownKey, shadowed }
    const outside = route === undefined
    if (content?.pieces && method !== 'HEAD') {
      return inPieces({ status, headers, about, outside }, content)
    }
    const body = content === undefined || method === 'HEAD' ? '' : content.text
    return { status, headers, body, about, outside }
  }

  /** NaN if the host's clock fails: no decision is possible, so the response is a 500. */
  function readClock(): number {
    try {
      const now: unknown = clock()
      return typeof now === 'number' ? now : Number.NaN
    } catch {
      return Number.NaN
    }
  }

  function allowsOrigins({ headers }: ApiRequest): boolean {
    return cors ?? headers['host'] !== undefined
  }

  /** Fetch standard, "CORS-preflight request". */
  function isPreflight(request: ApiRequest): boolean {
    const { method, headers } = request
    return (
      allowsOrigins(request) &&
      method === 'OPTIONS' &&
      headers['origin'] !== undefined &&
      headers['access-control-request-method'] !== undefined
    )
  }
}

interface Call extends RequestHead {
  readonly request: ApiRequest
  /** ms since the epoch, read once for the whole response */
  readonly now: number
}

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

/** Defers building the whole text until `body` is read. */
function inPieces(response: Omit<ApiResponse, 'body'>, content: Content): ApiResponse {
  return {
    ...response,
    pieces: content.pieces,
    get body() {
      return content.text
    },
  }
}
