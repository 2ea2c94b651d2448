import { Agent, request as httpRequest } from 'node:http'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { listen } from '../../adapters/http/index.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'

/** A request in the notation of the tests. */
export interface Call {
  /** @default 'GET' */
  readonly method?: string
  /** Including any query. */
  readonly path: string
  /** Sent as `Authorization: Bearer …`. */
  readonly key?: string | undefined
  /** Further headers, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The caller's address. */
  readonly client?: string
}

/** The response without connection headers; header names in lower case, sorted. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Send = (call: Call) => Promise<Reply>

/** A handler behind an adapter, opened for one test. */
export interface Door {
  readonly send: Send
  close(): Promise<void>
}

/** Every adapter that lets requests in, by name. */
export const DOORS: Readonly<
  Record<'handle' | 'fetch' | 'http', (handler: ApiHandler) => Promise<Door>>
> = {
  async handle(handler) {
    return {
      async send({ method = 'GET', path, body, client, ...call }) {
        const [target = '', ...query] = path.split('?')
        const headers = headersOf(call)
        const answer = await handler.handle({
          method,
          path: target,
          query: query.join('?'),
          headers,
          body,
          client,
        })
        return { status: answer.status, headers: plain(answer.headers), body: answer.body }
      },
      async close() {},
    }
  },

  async fetch(handler) {
    const serve = toFetchHandler(handler, { client: request => clients.get(request) })
    const clients = new WeakMap<Request, string>()
    return {
      async send({ method = 'GET', path, body, client, ...call }) {
        const request = new Request(`http://127.0.0.1${path}`, {
          method,
          headers: { ...headersOf(call), ...lengthOf(body) },
          ...(body === undefined ? {} : { body: bytesOf(body) }),
        })
        if (client !== undefined) clients.set(request, client)
        const response = await serve(request)
        const headers = plain(Object.fromEntries(response.headers))
        return { status: response.status, headers, body: await response.text() }
      },
      async close() {},
    }
  },

  async http(handler) {
    const server = await listen(handler, { port: 0, proxyHops: 1 })
    const agent = new Agent({ keepAlive: true })
    return {
      send: ({ method = 'GET', path, body, client, ...call }) =>
        new Promise((resolve, reject) => {
          const headers = headersOf(call)
          if (client !== undefined) headers['x-forwarded-for'] = client
          const { port } = server
          const outgoing = httpRequest({ port, method, path, headers, agent }, response => {
            const chunks: Buffer[] = []
            response.on('data', chunk => chunks.push(chunk))
            response.on('error', reject)
            response.on('end', () => {
              const { statusCode = 0 } = response
              const text = Buffer.concat(chunks).toString()
              resolve({
                status: statusCode,
                headers: plain(response.headers as Record<string, string>),
                body: text,
              })
            })
          })
          outgoing.on('error', reject)
          outgoing.end(body)
        }),
      async close() {
        agent.destroy()
        await server.close()
      },
    }
  },
}

const OF_THE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding']

function plain(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !OF_THE_CONNECTION.includes(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function headersOf({ key, headers }: Pick<Call, 'key' | 'headers'>): Record<string, string> {
  return { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers }
}

/** A server passes it on; a `Request` alone has none. */
function lengthOf(body: string | Uint8Array | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(bytesOf(body).byteLength) }
}

function bytesOf(body: string | Uint8Array): ArrayBuffer {
  return new Uint8Array(typeof body === 'string' ? new TextEncoder().encode(body) : body).buffer
}
