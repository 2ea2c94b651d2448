import type { RateLimit } from '../../src/errors.js'
import { check, isFunction } from '../../src/lib/check-options.js'
import { reasonOf, title } from './attempt.js'
import { isSignal, type PoliteFetchOptions, readPoliteFetchOptions } from './client-options.js'
import { ConnectionError } from './errors.js'
import { createGate, type Reply } from './gate.js'
import type { Retrying } from './hooks.js'
import { readLimitsOf } from './limit-headers.js'
import { createTime } from './time.js'

/** A `fetch` that stays within the limit of one API key. */
export interface PoliteFetch {
  /**
   * Sends a request when its turn comes. The response that it gives up with, such as a 429, is
   * returned.
   *
   * @throws what `fetch` throws; a TimeoutError before headers arrive; RateLimitError, QueueFullError
   * or ClosedError if nothing was sent
   */
  (input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** As last reported; undefined before the first response, and without headers that say it. */
  readonly rateLimit: RateLimit | undefined
  /** Waiting and new calls get a ClosedError. Resolves once the requests in flight have headers. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The gate of the client for any API: pauses, turns with others on the key, backoff and cancellation.
 * Create one for each API key.
 *
 * @param fetch sends the requests, such as `globalThis.fetch`
 * @throws OptionError
 */
export function politeFetch(
  fetch: typeof globalThis.fetch,
  given: PoliteFetchOptions,
): PoliteFetch {
  check('fetch', fetch, isFunction)
  const options = readPoliteFetchOptions(given)
  const { limits, timeoutMs, key = '', onRetry } = options
  const time = createTime(options.clock, options.sleep)
  const gate = createGate({ ...options, time, waitForBan: false, onRetry: release }, key, {
    send,
    explain: ({ response }: FetchReply) => new FailedResponse(response),
    mayRepeat,
  })

  const polite = async (input: string | URL | Request, init: RequestInit = {}) => {
    const request = await readRequest(input, init)
    try {
      return (await gate.send(request, request.signal)).response
    } catch (error) {
      if (error instanceof FailedResponse) return error.response
      throw error instanceof ConnectionError ? error.cause : error
    }
  }
  const { close } = gate
  const own = { close, [Symbol.asyncDispose]: close }
  return Object.defineProperty(Object.assign(polite, own), 'rateLimit', {
    get: () => gate.rateLimit,
  }) as PoliteFetch

  async function send(request: FetchRequest, signal: AbortSignal | undefined): Promise<FetchReply> {
    const { init } = request
    const timedOut = () =>
      failed(request, new DOMException(`No response within ${timeoutMs} ms`, 'TimeoutError'))
    // The caller's signal also ends the body, which arrives after the time limit.
    const exchange = (limited: AbortSignal) =>
      fetch(request.input(), {
        ...init,
        signal: signal ? AbortSignal.any([signal, limited]) : limited,
      })
    const response = await time.within(
      timeoutMs,
      signal,
      limited => exchange(limited).catch(cause => Promise.reject(failed(request, cause))),
      timedOut,
    )
    const { status, headers } = response
    const arrivedAt = time.now()
    return { status, response, limits: readLimitsOf(limits, headers, arrivedAt), arrivedAt }
  }

  /** The response of a request that is sent again is read by nobody. */
  function release(retrying: Retrying): void {
    const { error } = retrying
    if (error instanceof FailedResponse) void error.response.body?.cancel().catch(() => {})
    onRetry?.(retrying)
  }
}

class FailedResponse extends Error {
  readonly response: Response

  constructor(response: Response) {
    super(`The server answered ${response.status}.`)
    this.response = response
  }
}

interface FetchRequest {
  readonly method: string
  readonly url: string
  /** A new one for each attempt, because its body can be read once. */
  readonly input: () => string | URL | Request
  readonly init: RequestInit
  readonly signal: AbortSignal | undefined
  readonly hasIdempotencyKey: boolean
}

interface FetchReply extends Reply {
  readonly response: Response
}

/** @throws TypeError for an address, a method or headers that `fetch` would refuse */
async function readRequest(
  input: string | URL | Request,
  given: RequestInit,
): Promise<FetchRequest> {
  const request = typeof input === 'object' && 'clone' in input ? input : undefined
  const signal = given.signal ?? request?.signal
  check('signal', signal, isSignal)
  const { url, method, headers } = new Request(request?.url ?? input, {
    method: given.method ?? request?.method ?? 'GET',
    headers: given.headers ?? request?.headers ?? {},
  })
  const init = isStream(given.body)
    ? { ...given, body: await new Response(given.body).blob() }
    : given
  const hasIdempotencyKey = headers.has('idempotency-key')
  return { method, url, input: () => request?.clone() ?? input, init, signal, hasIdempotencyKey }
}

/** Read once, it could not be sent again. */
function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** RFC 9110 §9.2.2: the methods whose requests may be sent twice. */
const IDEMPOTENT: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const SAFE: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

function mayRepeat({ method, hasIdempotencyKey }: FetchRequest): boolean {
  return hasIdempotencyKey || IDEMPOTENT.includes(method)
}

function failed(request: FetchRequest, cause: unknown): ConnectionError {
  const mayHaveTakenEffect = !SAFE.includes(request.method)
  const message = `${title(request)} failed: ${reasonOf(cause)}.`
  return new ConnectionError(message, { cause, mayHaveTakenEffect })
}
