import type { ClientSettings } from './client-options.js'
import { ConnectionError, ContractError } from './errors.js'
import { type AnnouncedLimits, readLimits } from './rate-limit-headers.js'

export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
}

export interface Answer {
  readonly status: number
  readonly limits: AnnouncedLimits
  /** When the headers arrived, in ms since the epoch. */
  readonly arrivedAt: number
  readonly text: string
}

type AttemptOptions = Pick<ClientSettings, 'fetch' | 'maxResponseBytes' | 'time'>

/**
 * Sends a request once. Redirects would take the animal, or the key, to another server.
 * @throws ConnectionError, ContractError for a redirect or too large a response, the signal's reason
 */
export function attempt(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  options: AttemptOptions,
): Promise<Answer> {
  const { timeoutMs } = request
  const timedOut = () => connectionError(request, `no response within ${timeoutMs} ms`)
  const work = (limited: AbortSignal) => exchange(request, limited, options)
  return options.time.within(timeoutMs, signal, work, timedOut)
}

async function exchange(
  request: ClientRequest,
  signal: AbortSignal,
  // Looked up at each call, because tests replace it.
  { fetch = globalThis.fetch, maxResponseBytes, time }: AttemptOptions,
): Promise<Answer> {
  const { url, timeoutMs: _, ...init } = request
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    const { status, type, headers, body } = response
    const arrivedAt = time.now()
    if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
      void body?.cancel().catch(() => {})
      throw redirected(request, headers.get('location'))
    }
    const text = await readText(response, maxResponseBytes).catch(error => {
      // The headers of an error suffice: they say when to retry.
      if (status < 400 || signal.aborted) throw error
      return ''
    })
    if (text === undefined) {
      throw new ContractError(
        `The response to ${title(request)} is larger than \`maxResponseBytes\` (${maxResponseBytes}).`,
      )
    }
    return { status, text, limits: readLimits(headers), arrivedAt }
  } catch (error) {
    throw error instanceof ContractError ? error : connectionError(request, reasonOf(error), error)
  }
}

/** The body, counted as it is decompressed; undefined if it is larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  // React Native has no body, and node-fetch one that is no web stream.
  if (!response.body?.getReader) {
    const text = await response.text()
    return new TextEncoder().encode(text).length > maxBytes ? undefined : text
  }
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

function redirected(request: ClientRequest, location: string | null): ContractError {
  const target = location ? ` to ${location.slice(0, 200)}` : ''
  return new ContractError(
    `${title(request)} is redirected${target}. Set \`baseUrl\` to the address that serves the API.`,
  )
}

function connectionError(request: ClientRequest, reason: string, cause?: unknown): ConnectionError {
  const isSent = !NEVER_SENT.test(codeOf(cause) ?? '')
  const mayHaveTakenEffect = request.method === 'POST' && isSent
  const effect = isSent ? ' The animal may have been added nevertheless.' : ' Nothing was sent.'
  const message = `${title(request)} failed: ${reason}.${request.method === 'POST' ? effect : ''}`
  return new ConnectionError(message, { mayHaveTakenEffect, cause })
}

const NEVER_SENT =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/

/** `fetch` wraps the cause in a TypeError with little detail. */
function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

function reasonOf(cause: unknown): string {
  let message = String(cause)
  for (let at = cause; at instanceof Error; at = at.cause) message = at.message || message
  const code = codeOf(cause) ?? ''
  return message.replace(/\.$/, '') + (message.includes(code) ? '' : ` (${code})`)
}

export function title({ method, url }: Pick<ClientRequest, 'method' | 'url'>): string {
  return `${method} ${url}`
}
