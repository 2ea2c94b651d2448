import { ConnectionError, ContractError } from './errors.js'
import { type Limits, readLimits } from './headers.js'
import type { Time } from './time.js'

export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** A complete response. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly limits: Limits
  /** When its headers came, in ms since the epoch. */
  readonly arrivedAt: number
}

export interface AttemptOptions {
  /** @default the platform's, looked up at each call because tests replace it */
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly time: Time
  readonly timeoutMs: number
  readonly maxResponseBytes: number
}

/**
 * Sends a request once. Redirects are not followed: they would take the animal, or the key, to
 * another server.
 *
 * @param onRejection called with a rejection as soon as its headers have come; if its body is lost
 * or late, it is the answer without it
 * @throws ConnectionError without a complete response in time, ContractError for a redirect or a
 * response that is too large, or the reason of the signal
 */
export async function attempt(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  options: AttemptOptions,
  onRejection: (rejection: Answer) => void,
): Promise<Answer> {
  const { time, timeoutMs } = options
  let rejection: Answer | undefined
  const timedOut = () => connectionError(request, `no response within ${timeoutMs} ms`)
  const work = (signal: AbortSignal) =>
    exchange(request, signal, options, answer => {
      // A `fetch` that ignores the signal may come too late.
      if (signal.aborted) return
      rejection = answer
      onRejection(answer)
    })
  try {
    return await time.within(timeoutMs, signal, work, timedOut)
  } catch (error) {
    // The headers of a rejection say enough: when to come again.
    if (rejection && error instanceof ConnectionError) return rejection
    throw error
  }
}

async function exchange(
  request: ClientRequest,
  signal: AbortSignal,
  { fetch = globalThis.fetch, maxResponseBytes, time }: AttemptOptions,
  onRejection: (rejection: Answer) => void,
): Promise<Answer> {
  const { method, url, headers, body } = request
  try {
    const init = { method, headers, redirect: 'manual', signal } as const
    const response = await fetch(url, body === undefined ? init : { ...init, body })
    if (isRedirect(response)) throw redirected(request, response)
    const limits = readLimits(response.headers)
    const answer = { status: response.status, text: '', limits, arrivedAt: time.now() }
    if (isRejection(answer)) onRejection(answer)
    const text = await readText(response, maxResponseBytes)
    if (text === undefined) throw tooLarge(request, maxResponseBytes)
    return { ...answer, text }
  } catch (error) {
    throw error instanceof ContractError ? error : failedConnection(request, error)
  }
}

/** The body, counted as it is decompressed; undefined if it is larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  if (!response.body) return ''
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let bytes = 0
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > maxBytes) {
      void reader.cancel().catch(() => {})
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}

function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400)
}

function isRejection({ status, limits }: Answer): boolean {
  return status === 429 || (status >= 400 && limits.retryAfter !== null)
}

function redirected(request: ClientRequest, { headers, body }: Response): ContractError {
  void body?.cancel().catch(() => {})
  const location = headers.get('location')
  const target = location ? ` to ${location.slice(0, 200)}` : ''
  return new ContractError(
    `${title(request)} is redirected${target}. Set \`baseUrl\` to the address that serves the API.`,
  )
}

function tooLarge(request: ClientRequest, maxResponseBytes: number): ContractError {
  return new ContractError(
    `The response to ${title(request)} is larger than \`maxResponseBytes\` (${maxResponseBytes}).`,
  )
}

/** `connection refused (ECONNREFUSED)`, for messages. */
export function reasonOf(cause: unknown): string {
  const code = codeOf(cause)
  const reason = (code && REASONS[code]) ?? messageOf(cause)
  return code ? `${reason} (${code})` : reason
}

function failedConnection(request: ClientRequest, cause: unknown): ConnectionError {
  return connectionError(request, reasonOf(cause), cause, codeOf(cause))
}

function connectionError(
  request: ClientRequest,
  reason: string,
  cause?: unknown,
  code?: string,
): ConnectionError {
  const mayHaveTakenEffect = request.method === 'POST' && !(code && NEVER_SENT.has(code))
  const effect = mayHaveTakenEffect
    ? ' The animal may have been added nevertheless.'
    : request.method === 'POST'
      ? ' Nothing was sent.'
      : ''
  return new ConnectionError(`${title(request)} failed: ${reason}.${effect}`, {
    mayHaveTakenEffect,
    ...(cause === undefined ? {} : { cause }),
  })
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'host name lookup failed',
  EPIPE: 'connection closed',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_SOCKET: 'connection closed',
}

/** Without a connection, nothing was sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** `fetch` wraps the cause in a TypeError with little detail. */
function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

function messageOf(error: unknown): string {
  let message = String(error)
  for (let at = error; at instanceof Error; at = at.cause) message = at.message || message
  return message.replace(/\.$/, '')
}

/** `POST http://127.0.0.1:4280/v1/pets`, for messages. */
export function title({ method, url }: { readonly method: string; readonly url: string }): string {
  return `${method} ${url}`
}
