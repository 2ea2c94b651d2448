import { ApiError, ERROR_STATUS, type ErrorCode } from '../../../src/api-error.js'
import { toJson } from '../../../src/lib/json.js'
import { httpDate } from '../../../src/lib/time.js'
import { utf8Length } from '../../../src/lib/utf8.js'
import type { Clock } from '../../../src/ports.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { TextEncoder } from '../../platform.js'
import { changes, type FaultKind } from '../../verdict/log/fault-kinds.js'
import type { DelayFault, StatusFault, TrickleFault } from './fault.js'
import type { TakenFaults } from './faults.js'
import { lost } from './lose-response.js'

export async function injectFault(
  store: ApiHandler,
  request: ApiRequest,
  { delay, fault }: TakenFaults,
  circumstances: Circumstances,
): Promise<ApiResponse> {
  const { note } = circumstances
  if (delay) {
    note('delay')
    await circumstances.delay(delay)
  }
  if (!fault) return store.handle(request)
  if (fault.kind === 'status') return refused(store, request, fault, circumstances)
  if (fault.kind === 'hang' || fault.kind === 'reset') note(fault.kind)
  if (fault.kind === 'hang') return lost({ status: 0, headers: {}, body: '' }, 'hang')
  const answer = await store.handle(request)
  if (fault.kind === 'reset') return lost(answer, 'reset')
  const { status, body } = answer
  if (!changes(fault.kind, { status, length: body.length })) return answer
  note(fault.kind)
  if (fault.kind === 'malformed') return halved(answer)
  if (fault.kind === 'truncate') return lost(answer, 'truncate')
  return { ...answer, stream: () => pieces(body, fault, circumstances) }
}

interface Circumstances {
  readonly now: Clock
  readonly delay: (wait: DelayFault) => Promise<void>
  readonly pause: (wait: Pick<DelayFault, 'duration' | 'real'>) => Promise<void>
  readonly clockOf: (real: boolean | undefined) => Clock
  readonly note: (fault: FaultKind) => void
  readonly isKnown: boolean
}

/** Yields the body in pieces that are due by the clock, however late the last one was read. */
async function* pieces(
  text: string,
  { bytes, interval, real }: TrickleFault,
  { clockOf, pause }: Circumstances,
): AsyncGenerator<Uint8Array> {
  const body = new TextEncoder().encode(text)
  const now = clockOf(real)
  let due = now()
  let isOver = false
  for (let sent = 0; sent < body.length; sent += bytes) {
    due += Number(interval)
    if (!isOver && now() < due) {
      await pause({ duration: due - now(), real })
      isOver = now() < due
    }
    yield body.subarray(sent, sent + bytes)
  }
}

/** A caller that is rejected with 401 or 429 gets that response instead. */
async function refused(
  store: ApiHandler,
  request: ApiRequest,
  fault: StatusFault,
  { now, note, isKnown }: Circumstances,
): Promise<ApiResponse> {
  if (!isKnown) return store.handle(request)
  const at = now()
  const isAfter = fault.when === 'after'
  const answer = await store.handle(isAfter ? request : { ...request, refusal: REFUSAL })
  if (isAfter ? answer.status === 429 : answer.status !== REFUSAL.status) return answer
  note(fault.kind)
  return errorInstead(answer, request, fault, at)
}

/** Keeps the operation from running, with a status that the store never sends by itself. */
const REFUSAL = new ApiError('internal_error', '', { status: 599 })

/** Replaces a response by an error, without the headers about its content. */
function errorInstead(
  answer: ApiResponse,
  { method }: ApiRequest,
  { status, code = codeOf(status), retryAfter = null, headers = {}, ...fault }: StatusFault,
  now: number,
): ApiResponse {
  const { body = { code, message: 'Fault injected by this test.', status } } = fault
  const isText = typeof body === 'string'
  const text = isText ? body : toJson(body)
  const kept = Object.entries(answer.headers).filter(isNotOfContent)
  const own = {
    'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'Content-Length': String(utf8Length(text)),
    ...(retryAfter !== null && { 'Retry-After': retryAfterText(retryAfter, now) }),
    ...(status === 429 && { 'Cache-Control': 'no-store' }),
  }
  return {
    status,
    headers: merged({ ...Object.fromEntries(kept), ...own }, headers),
    body: method === 'HEAD' ? '' : text,
    about: {
      ...answer.about,
      location: answer.status === 201 ? answer.headers['Location'] : undefined,
    },
  }
}

/** A link to the next page belongs to the page, one to a successor to the operation. */
function isNotOfContent([name, value]: [string, string]): boolean {
  return NOT_OF_CONTENT.test(name) && !value.includes('rel="next"')
}

const NOT_OF_CONTENT =
  /^(date|vary|x-ratelimit-.*|ratelimit.*|access-control-.*|x-content-type-options|sunset|deprecation|link)$/i

function codeOf(status: number): ErrorCode {
  if (status === 502 || status === 504) return 'storage_unavailable'
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[]
  const exact = codes.find(code => ERROR_STATUS[code] === status)
  return exact ?? (status < 500 ? 'invalid_request' : 'internal_error')
}

/** RFC 9110 §10.2.3: seconds or an HTTP-date. */
function retryAfterText(retryAfter: number | { readonly date: number }, now: number): string {
  if (typeof retryAfter === 'number') return String(retryAfter)
  return httpDate(now + retryAfter.date * 1000)
}

function merged(
  headers: ApiResponse['headers'],
  others: ApiResponse['headers'],
): Record<string, string> {
  const names = Object.keys(others).map(name => name.toLowerCase())
  const kept = Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase()))
  return { ...Object.fromEntries(kept), ...others }
}

/** Cuts the body in the middle, so that the message is complete but no JSON. */
function halved({ pieces: _, ...answer }: ApiResponse): ApiResponse {
  const body = answer.body.slice(0, answer.body.length >> 1)
  const headers = { ...answer.headers, 'Content-Length': String(utf8Length(body)) }
  return { ...answer, headers, body }
}
