import type { Call, Credential, RawCall, RawExchange, Reply } from './check.js'
import { shorten } from './expect.js'
import { NoReply, reasonOf } from './no-reply.js'
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

export function createTransport({ baseUrl, timeoutMs, fetch }: ReadOptions): Transport {
  const url = new URL(baseUrl.replace(/\/+$/, ''))
  const basePath = url.pathname === '/' ? '' : url.pathname
  const request = fetch ?? ((given: Request) => globalThis.fetch(given))
  let requests = 0

  return {
    basePath,
    get requests() {
      return requests
    },
    send(call, credential) {
      const target = `${url.origin}${basePath}${call.path}`
      return transmit(target, initOf(call, credential), inWords(call, credential))
    },
    download: target => transmit(target, {}, `GET ${target}, without a key`),
    async exchange({ what, text, methods }, { authorization = '' }) {
      const bytes = text
        .replaceAll('{host}', url.host)
        .replaceAll('{origin}', url.origin)
        .replaceAll('{base}', basePath)
        .replaceAll('{key}', authorization)
      const sent = `${what}, as bytes`
      requests += methods.length
      try {
        const { exchangeBytes } = await import('./raw-exchange.js')
        return await exchangeBytes({ url, text: bytes, methods, timeoutMs, sent })
      } catch (error) {
        throw new NoReply(sent, reasonOf(error))
      }
    },
  }

  async function transmit(target: string, init: RequestInit, sent: string): Promise<Reply> {
    requests++
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const response = await request(new Request(target, { ...init, redirect: 'manual', signal }))
      const { status, headers } = response
      return { sent, status, headers, body: await response.text() }
    } catch (error) {
      throw new NoReply(sent, reasonOf(error))
    }
  }
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

function inWords({ method = 'GET', path, body, headers = {} }: Call, { label }: Credential) {
  const fields = Object.entries(headers).map(([name, value]) => `, ${name}: ${shorten(value, 100)}`)
  const text = typeof body === 'string' ? body : body && `${body.length} bytes`
  const content = text === undefined ? '' : ` with ${shorten(text, 160) || 'an empty body'}`
  return `${method} ${shorten(path, 160)}${content}${fields.join('')}, ${label}`
}
