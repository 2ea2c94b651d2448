import type { ErrorCode } from '../../../src/api-error.js'
import { isObject, isString } from '../../../src/lib/check-options.js'
import { fingerprint } from '../../../src/lib/fingerprint.js'
import { mayRound } from '../../../src/lib/int64.js'
import * as z from '../../../src/lib/zod.js'
import type { Operation } from '../../../src/pets/specification.js'
import type { ApiResponse } from '../../../src/protocol/api-request.js'
import { hostRefusal } from '../../http/target-and-body.js'
import { TextDecoder } from '../../platform.js'
import type { FaultKind } from './fault-kinds.js'
import { instant, type ReadRequest, SENDER, type SenderSeen } from './read-request.js'
import { type Captured, decoded, REDACTED, redactedHeaders, redactorOf } from './redact.js'

const headers = z.readonly(z.record(z.string(), z.string()))

export const exchangeSchema = z.object({
  /** 1, 2, 3 … in order of arrival. */
  n: z.int().check(z.minimum(1)),
  at: instant,
  /** Null without a response, so far or at all. */
  answeredAt: z.nullable(instant),
  /** Id of the API key; null without a valid one. */
  keyId: z.nullable(z.string()),
  operation: z.nullable(z.custom<Operation>(isString.accepts)),
  method: z.string(),
  path: z.string(),
  /** Known query parameters, as sent. */
  query: z.string(),
  /** Path and query as sent, without the values of unknown parameters. */
  url: z.string(),
  status: z.nullable(z.int()),
  code: z.nullable(z.custom<ErrorCode>(isString.accepts)),
  requestHeaders: headers,
  headers,
  /** Null for an empty body. */
  requestBody: z.nullable(z.string()),
  body: z.nullable(z.string()),
  /** Fingerprint of method, path, query and body. */
  requestDigest: z.string(),
  /** Unknown query parameters and body fields, by name. */
  unknown: z.readonly(z.array(z.string())),
  fault: z.nullable(z.custom<FaultKind>(isString.accepts)),
  /** `Location` of the stored animal, if a fault replaced the 201 with an error. */
  location: z.optional(z.string()),
  ...SENDER,
})

/** A request and its response. Times are in ms by the double's clock; credentials are `REDACTED`. */
export interface Exchange extends Readonly<z.infer<typeof exchangeSchema>> {
  /** Stack of the call that sent the request. Not enumerable, so that it affects no comparison. */
  readonly stack?: Error | undefined
  /** Lead of real time over the clock, in ms. Not enumerable either. */
  readonly lag?: { readonly at: number; readonly answeredAt: number } | undefined
}

/** An exchange with its credentials, which never leaves the process. */
export interface Recorded extends Captured, SenderSeen {
  request: ReadRequest
  readonly n: number
  readonly at: number
  readonly lag: number
  readonly operation: Operation | undefined
  readonly keyId: string | undefined
  /** Query parameters that the store knows. */
  readonly parameters: readonly string[]
  fault: FaultKind | null
  answer: { readonly at: number; readonly lag: number; readonly response: ApiResponse } | undefined
}

/** Keeps what judging a client needs: few request headers, the bodies of refusals, no path or query. */
export function outlineOf(recorded: Recorded, given?: (text: string) => string): Exchange {
  const { request, operation, parameters, answer } = recorded
  const { method, path, query, hasQuery = query !== '', headers } = request
  const { host, traceparent, 'idempotency-key': idempotencyKey } = headers
  const preflight = headers[PREFLIGHT]
  const ofOperation = operation === 'listPets' ? parameters : []
  const unknown = operation ? unknownNames(operation, request, ofOperation) : []
  const location = answer?.response.about?.location
  // Most requests have this path, which contains nothing to redact.
  const isPlain = query === '' && (operation === 'listPets' || operation === 'createPet')
  const { status = null, body = '' } = answer?.response ?? {}
  const sent = textOf(request.body)
  // A refusal gives its reason.
  const refusal = status !== null && status >= 400 && status !== 429 ? body : null
  const isInnocent = isPlain && unknown.length === 0 && refusal === null
  const redact = given ?? (isInnocent ? (text: string) => text : redactorOf(recorded, 'shown'))
  // In the order of the snapshot schema.
  const outline: Exchange = {
    n: recorded.n,
    at: recorded.at,
    answeredAt: answer?.at ?? null,
    keyId: recorded.keyId ?? null,
    operation: operation ?? null,
    method: redact(method),
    path: '',
    query: '',
    url: redact(hasQuery ? `${path}?${withoutValues(query, parameters)}` : path),
    status,
    code: answer ? errorOf(answer.response).code : null,
    requestHeaders: {
      ...(host !== undefined && { host }),
      ...(traceparent !== undefined && { traceparent }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(preflight !== undefined && { [PREFLIGHT]: preflight }),
    },
    headers: answer?.response.headers ?? {},
    requestBody: operation === 'createPet' && mayBeOdd(sent) ? redact(sent) : null,
    body: refusal === null ? null : redact(refusal),
    requestDigest: fingerprint(`${method} ${path}?${query} ${sent}`),
    unknown: unknown.map(redact),
    fault: recorded.fault,
    ...(location !== undefined && { location }),
    connection: recorded.connection,
    sequential: recorded.sequential,
    overlap: recorded.overlap,
  }
  const { stack } = request
  const lag = { at: recorded.lag, answeredAt: answer?.lag ?? recorded.lag }
  if (lag.answeredAt > 0) Object.defineProperty(outline, 'lag', { value: lag })
  return stack ? Object.defineProperty(outline, 'stack', { value: stack }) : outline
}

/** The header by which a server tells a preflight from another OPTIONS. */
export const PREFLIGHT = 'access-control-request-method'

/** True if an integer may have been rounded, or a character cut in half. */
function mayBeOdd(body: string): boolean {
  return mayRound(body) || /\\ud[89a-f]/i.test(body)
}

export function exchangeOf(recorded: Recorded, redact = redactorOf(recorded, 'shown')): Exchange {
  const { request, parameters, answer } = recorded
  const outline = outlineOf(recorded, redact)
  return Object.assign(outline, {
    path: redact(request.path),
    // A key may contain the separators of a query.
    query: knownQuery(redact(request.query), parameters),
    requestHeaders: redactedHeaders(request.headers, redact),
    headers: redactedHeaders(outline.headers, redact),
    requestBody: request.body?.length ? redact(textOf(request.body)) : null,
    body: answer?.response.body ? redact(answer.response.body) : null,
  })
}

/** `code` and `message` of an Error body; null in any other body, such as that of a fault. */
export function errorOf({ status, body }: Pick<ApiResponse, 'status' | 'body'>) {
  let error: { readonly code?: unknown; readonly message?: unknown } = {}
  try {
    if (status >= 400 && body !== '') error = Object(JSON.parse(body))
  } catch {
    // The body of a fault can be anything.
  }
  const { code, message } = error
  return {
    code: typeof code === 'string' ? (code as ErrorCode) : null,
    message: typeof message === 'string' ? message : null,
  }
}

/** Origin to which a request was sent; calls of a double's own `fetch` have no host. */
export function originOf({ host }: ReadRequest['headers'], origin: string): string {
  return host === undefined || hostRefusal(host) ? origin : `http://${host}`
}

export function textOf(body: ReadRequest['body']): string {
  if (body === undefined || typeof body === 'string') return body ?? ''
  return body.length === 0 ? '' : new TextDecoder().decode(body)
}

export const FIELDS = ['name', 'categoryId', 'status']

/** Query parameters and body fields that the store ignores. @param known those of the operation */
export function unknownNames(operation: Operation, request: ReadRequest, known: readonly string[]) {
  const { query, body } = request
  const names = query === '' ? [] : query.split('&').map(nameOf)
  const fields = operation === 'createPet' ? fieldsOf(body) : []
  return [
    ...names.filter(name => name !== '' && !known.includes(name)),
    ...fields.filter(name => !FIELDS.includes(name)),
  ]
}

function knownQuery(query: string, known: readonly string[]): string {
  return query
    .split('&')
    .filter(pair => known.includes(nameOf(pair)))
    .join('&')
}

function withoutValues(query: string, known: readonly string[]): string {
  return query
    .split('&')
    .map(pair => (known.includes(nameOf(pair)) ? pair : pair.replace(/=.*/s, `=${REDACTED}`)))
    .join('&')
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1)
  return decoded(name.replaceAll('+', ' '))
}

function fieldsOf(body: ReadRequest['body']): readonly string[] {
  try {
    const value: unknown = JSON.parse(textOf(body))
    return isObject.accepts(value) ? Object.keys(value as object) : []
  } catch {
    // The store answers 400 to such a body.
    return []
  }
}
