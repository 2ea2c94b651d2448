import { printable } from '../../src/lib/printable.js'
import { createTime } from '../client/time.js'
import type { Call, Reply } from './check-types.js'
import type { PlainRequest } from './connection.js'
import { type Credential, KEY, type Redaction } from './credentials.js'
import { excerpt } from './evidence.js'
import { codeOf, isClosed, NoReply, readBody } from './no-reply.js'
import type { ReadOptions } from './verify-options.js'

/** Sends requests to one server, whatever their budget. All methods throw NoReply. */
export function createTransport(options: ReadOptions, { hide, redact }: Redaction) {
  const { baseUrl, timeout: timeoutMs, fetch, apiKey } = options
  const url = new URL(baseUrl.replace(/(?<!\/)\/+$/, ''))
  const basePath = url.pathname === '/' ? '' : url.pathname
  // Time limits are real, whatever clock the run waits by.
  const time = createTime()
  let requestCount = 0

  return {
    origin: url.origin,
    basePath,
    get requestCount() {
      return requestCount
    },
    async send(call: Call): Promise<Reply> {
      const request = plain(call)
      // The previous request may have ended the connection; a server that crashes does so again.
      return await transmit(request)
        .catch((error: unknown) => (isReset(error) ? transmit(request) : Promise.reject(error)))
        .catch((error: unknown) => refusalOf(request, error))
    },
    sendTogether: (calls: readonly Call[]) => onConnection(calls.map(plain)),
    /** Downloads without a key: another server may answer. */
    download: (target: string) =>
      transmit({ method: 'GET', target, headers: {}, sent: `GET ${target}, without a key` }),
  }

  function plain(call: Call): PlainRequest {
    const { method = 'GET', path, body, as = KEY } = call
    const authorization = as.authorization(options)
    if (as.isSecret && as !== KEY && authorization !== undefined) {
      hide(authorization)
      hide(authorization.replace(/^\S*\s+/, ''))
    }
    const headers = {
      'user-agent': 'animal-adoption-store verify',
      ...(authorization !== undefined && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...call.headers,
    }
    const filled = Object.entries(headers).map(([name, value]) => [
      name,
      value.replaceAll('{key}', apiKey),
    ])
    const target = path.replaceAll('{key}', encodeURIComponent(apiKey))
    return {
      method,
      target: isUrl(target) ? target : `${basePath}${target}`,
      headers: Object.fromEntries(filled),
      body,
      sent: inWords(call, as, redact),
    }
  }

  async function transmit(request: PlainRequest): Promise<Reply> {
    requestCount++
    const { sent } = request
    return await time
      .within(timeoutMs, undefined, signal => receive(request, signal), tooLate(sent))
      .catch((error: unknown) => {
        throw error instanceof NoReply ? error : new NoReply(sent, codeOf(error))
      })
  }

  async function receive(request: PlainRequest, signal: AbortSignal): Promise<Reply> {
    const { method, target, headers: fields, body, sent } = request
    const address = isUrl(target) ? target : `${url.origin}${target}`
    const sends = typeof body === 'object' ? new Uint8Array(body) : body
    const init = { method, headers: fields, signal, redirect: 'manual' } as const
    const given = sends === undefined ? init : { ...init, body: sends }
    const response = await (fetch ?? globalThis.fetch)(address, given)
    const { status, headers } = response
    const { body: stream = [new TextEncoder().encode(await response.text())] } = response
    const content = await readBody(stream as AsyncIterable<Uint8Array> | null, sent)
    return { sent, method, target, status, headers, body: content }
  }

  async function onConnection(calls: readonly PlainRequest[]): Promise<readonly Reply[]> {
    requestCount += calls.length
    const { sendOnConnection } = await import('./connection.js')
    const work = (signal: AbortSignal) => sendOnConnection(url, calls, signal)
    return await time.within(timeoutMs, undefined, work, tooLate(calls[0]?.sent ?? ''))
  }

  /**
   * A server that refuses a body unread may reset the connection and lose the reply (RFC 9112
   * §9.6). It then answers the head alone with 413; any other reply says nothing about the body.
   */
  async function refusalOf(request: PlainRequest, error: unknown): Promise<Reply> {
    const { body, headers } = request
    if (!isReset(error) || body === undefined || fetch) throw error
    const { length } = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const announced = { ...headers, 'content-length': String(length) }
    const head = { ...request, headers: announced, body: undefined }
    const [reply] = await onConnection([head]).catch(() => [])
    if (reply?.status === 413) return reply
    throw error
  }

  function tooLate(sent: string): () => Error {
    return () => new NoReply(sent, 'timeout', `no complete response within ${timeoutMs} ms`)
  }
}

function isUrl(target: string): boolean {
  return target.startsWith('http')
}

function isReset(error: unknown): boolean {
  return error instanceof NoReply && isClosed(error.code)
}

function inWords(
  { method = 'GET', path, body, headers = {} }: Call,
  { label }: Credential,
  redact: Redaction['redact'],
) {
  const fields = Object.entries(headers).map(
    ([name, value]) => `, ${name}: ${excerpt(value, 100, redact)}`,
  )
  const text = typeof body === 'string' ? body : body && bytesOf(body)
  const content = text === undefined ? '' : ` with ${excerpt(text, 160, redact) || 'an empty body'}`
  const shown = `${printable(method)} ${excerpt(path, 160, redact)}${content}${fields.join('')}`
  return `${shown.replaceAll('{key}', '<key>')}, ${label}`
}

/** One character per byte. */
function bytesOf(body: Uint8Array): string {
  return Array.from(body.subarray(0, 1_000), byte => String.fromCharCode(byte)).join('')
}
