import { printable } from '../../src/lib/printable.js'
import type { Call, Credential, RawCall, RawExchange, Reply } from './check.js'
import { excerpt } from './evidence.js'
import { codeOf, isClosed, LONGEST_BODY, NoReply } from './no-reply.js'
import type { ReadOptions } from './options.js'

/** Requests to one server, whatever their budget. All methods throw NoReply. */
export interface Transport {
  /** Of the base address, without the origin; '' at its root. */
  readonly basePath: string
  /** How many requests were sent. */
  readonly requests: number
  send(call: Call, credential: Credential): Promise<Reply>
  exchange(call: RawCall, credential: Credential): Promise<RawExchange>
  /** Without a key: another server may answer. */
  download(url: string): Promise<Reply>
}

/** An idle connection may be closed at any time: after this many ms, its end means nothing. */
const STALE = 500

export function createTransport(
  { baseUrl, timeoutMs, fetch }: ReadOptions,
  redact: (text: string) => string,
): Transport {
  const url = new URL(baseUrl.replace(/\/+$/, ''))
  const basePath = url.pathname === '/' ? '' : url.pathname
  let requests = 0
  let latest = Number.POSITIVE_INFINITY

  return {
    basePath,
    get requests() {
      return requests
    },
    send(call, credential) {
      const target = `${url.origin}${basePath}${call.path}`
      return transmit(target, initOf(call, credential), inWords(call, credential, redact))
    },
    download: target => transmit(target, {}, `GET ${target}, without a key`),
    async exchange({ what, text, methods, padding }, { authorization = '' }) {
      const filled = text
        .replaceAll('{host}', url.host)
        .replaceAll('{origin}', url.origin)
        .replaceAll('{base}', basePath)
      const shown = excerpt(filled.replaceAll('{key}', 'Bearer <key>'), 400, redact)
      const sent = `${what}: ${shown}`
      requests += methods.length
      const { exchangeBytes } = await import('./raw-exchange.js')
      return await exchangeBytes({
        url,
        text: filled.replaceAll('{key}', authorization),
        padding,
        methods,
        timeoutMs,
        sent,
      })
    },
  }

  async function transmit(target: string, init: RequestInit, sent: string): Promise<Reply> {
    const isStale = performance.now() - latest > STALE
    try {
      return await attempt(target, init, sent)
    } catch (error) {
      // Whoever crashes or refuses does so again.
      if (isStale && error instanceof NoReply && isClosed(error.code)) {
        return await attempt(target, init, sent)
      }
      throw error
    } finally {
      latest = performance.now()
    }
  }

  /** Ends after `timeoutMs`, whatever the server or a `fetch` function does. */
  async function attempt(target: string, init: RequestInit, sent: string): Promise<Reply> {
    requests++
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const reason = `no complete response within ${timeoutMs} ms`
      timer = setTimeout(() => reject(new NoReply(sent, 'timeout', reason)), timeoutMs)
    })
    try {
      return await Promise.race([receive(target, { ...init, signal: stop.signal }, sent), late])
    } catch (error) {
      throw error instanceof NoReply ? error : new NoReply(sent, codeOf(error))
    } finally {
      clearTimeout(timer)
      // Also closes a connection whose body was not read to its end.
      stop.abort()
    }
  }

  async function receive(target: string, init: RequestInit, sent: string): Promise<Reply> {
    const given = { ...init, redirect: 'manual' } as const
    // A Request between the signal and the platform's fetch may be collected, and the signal with it.
    const response = await (fetch
      ? fetch(new Request(target, given))
      : globalThis.fetch(target, given))
    const { status, headers } = response
    return { sent, status, headers, body: await readBody(response, sent) }
  }
}

async function readBody({ body }: Response, sent: string): Promise<string> {
  if (!body) return ''
  // JSON has no byte order mark (RFC 8259 §8.1): it is kept, so that parsing fails.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  let size = 0
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > LONGEST_BODY) {
      throw new NoReply(sent, 'too-large', 'a body of more than 2 MiB, whose rest was not read')
    }
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function initOf({ method = 'GET', headers, body }: Call, { authorization }: Credential) {
  return {
    method,
    headers: {
      'user-agent': 'animal-adoption-store verify',
      ...(authorization !== undefined && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  }
}

function inWords(
  { method = 'GET', path, body, headers = {} }: Call,
  { label }: Credential,
  redact: (text: string) => string,
) {
  const fields = Object.entries(headers).map(
    ([name, value]) => `, ${name}: ${excerpt(value, 100, redact)}`,
  )
  const text = typeof body === 'string' ? body : body && bytesOf(body)
  const content = text === undefined ? '' : ` with ${excerpt(text, 160, redact) || 'an empty body'}`
  return `${printable(method)} ${excerpt(path, 160, redact)}${content}${fields.join('')}, ${label}`
}

/** One character for each byte. */
function bytesOf(body: Uint8Array): string {
  return Array.from(body.subarray(0, 1_000), byte => String.fromCharCode(byte)).join('')
}
