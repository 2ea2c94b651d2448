import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/api.js'
import { ApiError, type ErrorCode } from '../../src/errors.js'
import type { StateClock } from './clock.js'
import type { Look } from './exchange.js'
import type { Fault, FaultKind, Faults } from './faults.js'
import { httpDate } from './time.js'

/** Has a request answered by the store, with what is armed for it. */
export async function injectFault(
  store: ApiHandler,
  request: ApiRequest,
  { look, faults, clock, note }: Circumstances,
): Promise<ApiResponse> {
  const { delay, fault } = faults.take(look)
  if (delay !== undefined) {
    note('delay')
    await clock.delay(delay)
  }
  if (!fault) return store.handle(request)
  note(fault.kind)
  if (fault.kind === 'hang') return lost({ status: 0, headers: {}, body: '' }, 'hang')
  if (fault.kind === 'status') {
    return store.handle({ ...request, refusal: errorOf(fault, clock.now()) })
  }
  const answer = await store.handle(request)
  if (fault.kind === 'malformed') return halved(answer)
  return lost(answer, fault.kind)
}

interface Circumstances {
  readonly look: Look
  readonly faults: Faults
  readonly clock: StateClock
  readonly note: (fault: FaultKind) => void
}

const CODES: Record<429 | 500 | 503, ErrorCode> = {
  429: 'rate_limit_exceeded',
  500: 'internal_error',
  503: 'storage_unavailable',
}

function errorOf(fault: Extract<Fault, { kind: 'status' }>, now: number): ApiError {
  const { status, retryAfter = null } = fault
  return new ApiError(CODES[status], 'A fault that was armed for this test.', {
    headers: {
      ...(retryAfter !== null && { 'Retry-After': retryAfterText(retryAfter, now) }),
      ...(status === 429 && { 'Cache-Control': 'no-store' }),
    },
  })
}

/** RFC 9110 §10.2.3: seconds or an HTTP-date. */
function retryAfterText(retryAfter: number | { readonly date: number }, now: number): string {
  if (typeof retryAfter === 'number') return String(retryAfter)
  return httpDate(now + retryAfter.date * 1000)
}

/** A complete message whose body stops in the middle, so that it is no JSON. */
function halved(answer: ApiResponse): ApiResponse {
  const body = answer.body.slice(0, answer.body.length >> 1)
  const headers = { ...answer.headers, 'Content-Length': String(Buffer.byteLength(body)) }
  return body === '' ? answer : { ...answer, headers, body }
}

/** How a network can lose an answer: a TCP reset, silence, or half of the body and then the end. */
export type LostBy = 'reset' | 'hang' | 'truncate'

/** An answer that may be lost on its way. */
export interface LosableAnswer extends ApiResponse {
  readonly lostBy?: LostBy | undefined
}

/** The same answer, lost: on a socket by `deliver`, in process by those who read `lostBy`. */
export function lost(answer: ApiResponse, lostBy: LostBy): LosableAnswer {
  const deliver = (response: unknown) => DELIVERIES[lostBy](response as ServerResponse, answer)
  return { ...answer, lostBy, deliver }
}

const DELIVERIES: Record<LostBy, (response: ServerResponse, answer: ApiResponse) => void> = {
  hang() {},
  reset(response) {
    response.req.socket.resetAndDestroy()
  },
  truncate(response, { status, headers, body }) {
    response.sendDate = false
    response.writeHead(status, headers as OutgoingHttpHeaders)
    response.write(firstHalf(body))
    response.req.socket.destroySoon()
  },
}

/** Half of the bytes, for an answer that announces all of them. */
export function firstHalf(body: string): Uint8Array {
  const bytes = Buffer.from(body)
  return bytes.subarray(0, bytes.length >> 1)
}
