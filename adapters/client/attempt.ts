import { onAbort } from './abort.js'
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
}

export interface AttemptOptions {
  readonly fetch: typeof globalThis.fetch
  readonly time: Time
  readonly timeoutMs: number
  readonly maxResponseBytes: number
}

/**
 * Sends a request once. Redirects are not followed: they would take the animal, or the key, to
 * another server.
 *
 * @throws ConnectionError without a complete response in time, ContractError for a redirect or a
 * response that is too large, or the reason of the signal
 */
export function attempt(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  options: AttemptOptions,
): Promise<Answer> {
  const { time, timeoutMs } = options
  const sending = new AbortController()

  return new Promise((resolve, reject) => {
    const fail = (reason: unknown) => {
      cleanUp()
      // Also ends a `fetch` that ignores signals.
      reject(reason)
      sending.abort(reason)
    }
    const timeout = () => fail(connectionError(request, `no response within ${timeoutMs} ms`))
    const stopTimer = time.at(time.now() + timeoutMs, timeout, fail)
    const stopListening = onAbort(signal, () => fail(signal?.reason))
    exchange(request, sending.signal, options).then(
      answer => {
        cleanUp()
        resolve(answer)
      },
      error => fail(error instanceof ContractError ? error : failedConnection(request, error)),
    )

    function cleanUp(): void {
      stopTimer()
      stopListening()
    }
  })
}

async function exchange(
  request: ClientRequest,
  signal: AbortSignal,
  { fetch, maxResponseBytes }: AttemptOptions,
): Promise<Answer> {
  const { url, ...init } = request
  const response = await fetch(url, { ...init, redirect: 'manual', signal })
  const { status, headers, type } = response
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    void response.body?.cancel()
    throw redirected(request, headers.get('location'))
  }
  const text = await readText(response, maxResponseBytes)
  if (text !== undefined) return { status, text, limits: readLimits(headers) }
  throw new ContractError(
    `The response to ${title(request)} is larger than \`maxResponseBytes\` (${maxResponseBytes}).`,
  )
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
      void reader.cancel()
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}

function redirected(request: ClientRequest, location: string | null): ContractError {
  const target = location ? ` to ${location.slice(0, 200)}` : ''
  return new ContractError(
    `${title(request)} is redirected${target}. Set \`baseUrl\` to the address that serves the API.`,
  )
}

function failedConnection(request: ClientRequest, cause: unknown): ConnectionError {
  const code = codeOf(cause)
  const reason = (code && REASONS[code]) ?? messageOf(cause)
  return connectionError(request, code ? `${reason} (${code})` : reason, cause, code)
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
export function title({ method, url }: ClientRequest): string {
  return `${method} ${url}`
}
