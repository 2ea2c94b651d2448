import type { RateLimit } from '../../src/errors.js'
import { ConnectionError } from './errors.js'
import type { Sleep } from './gate.js'
import { httpDate, type Told } from './retry.js'

export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** What came back, read to its end. */
export interface Answer extends Told {
  readonly status: number
  readonly text: string
}

export interface AttemptOptions {
  readonly fetch: typeof globalThis.fetch
  readonly sleep: Sleep
  readonly timeoutMs: number
}

/**
 * Sends a request once.
 *
 * @throws ConnectionError when no whole answer comes in time, or the reason of the signal
 */
export async function attempt(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  { fetch, sleep, timeoutMs }: AttemptOptions,
): Promise<Answer> {
  const { url, ...init } = request
  const end = new AbortController()
  const onAbort = () => end.abort(signal?.reason)
  const done = new AbortController()
  signal?.addEventListener('abort', onAbort)
  void sleep(timeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) end.abort(new ConnectionError(`No answer within ${timeoutMs} ms.`))
  })
  try {
    return await unlessAborted(end.signal, async () => {
      const response = await fetch(url, { ...init, signal: end.signal })
      return toAnswer(response, await response.text())
    })
  } catch (error) {
    if (end.signal.aborted) throw end.signal.reason
    throw new ConnectionError('The connection failed before there was an answer.', { cause: error })
  } finally {
    signal?.removeEventListener('abort', onAbort)
    done.abort()
  }
}

/** What the promise brings, or the reason of the signal, whichever is first. */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (!signal) return work()
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function toAnswer({ status, headers }: Response, text: string): Answer {
  return {
    status,
    text,
    retryAfter: headers.get('retry-after'),
    sentAt: httpDate(headers.get('date')),
    rateLimit: rateLimitOf(headers),
  }
}

function rateLimitOf(headers: Headers): RateLimit | undefined {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map(name => {
    const text = headers.get(`x-ratelimit-${name}`) ?? ''
    return /^\d+$/.test(text) ? Number(text) : undefined
  })
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined
  return { limit, remaining, reset }
}
