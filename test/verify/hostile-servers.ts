import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { toNodeHandler } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'

/** A server that would make a trusting client hang, run out of memory or be misled. */
export interface HostileServer {
  readonly name: string
  readonly says: RegExp
  /** @default 10_000 */
  readonly timeout?: number
  readonly bytes?: (socket: Socket) => void
  readonly http?: () => RequestListener
}

export const KEY = 'hostile-key'

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const MEBIBYTE = 1_048_576

export const HOSTILE_SERVERS: readonly HostileServer[] = [
  // Silence
  {
    name: 'never answers',
    says: /does not answer within 500 ms$/,
    timeout: 500,
    bytes: () => {},
  },
  {
    name: 'sends one byte of a body at a time',
    says: /does not answer within 500 ms$/,
    timeout: 500,
    bytes: onRequest(socket => {
      socket.write(`${OK}Content-Length: 1000000\r\n\r\n`)
      const timer = setInterval(() => socket.write(' '), 20)
      socket.once('close', () => clearInterval(timer))
    }),
  },
  {
    name: 'answers once and then never again',
    says: /no response: no complete response within 10000 ms/,
    timeout: 10_000,
    http: () => afterFirst(() => {}),
  },
  {
    name: 'never answers on a connection of our own',
    says: /http\.chunked: no response: no complete response within 10000 ms/,
    timeout: 10_000,
    http: () => {
      const serve = right()
      return (request, response) => {
        if (request.headers['sec-fetch-mode']) serve(request, response)
      }
    },
  },

  // The end of a connection
  {
    name: 'answers once and then closes each connection',
    says: /no response: the connection was closed/,
    http: () => afterFirst((_, response) => response.socket?.destroy()),
  },
  {
    name: 'ends a body too early',
    says: /closes the connection|another length than its Content-Length/,
    bytes: onRequest(socket => socket.end(`${OK}Content-Length: 100\r\n\r\n[]`)),
  },

  // No HTTP
  {
    name: 'sends interim responses for ever',
    timeout: 500,
    says: /does not answer|closes the connection|Cannot reach/,
    bytes: onRequest(socket => pour(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')),
  },

  // Too much
  {
    name: 'sends header fields for ever',
    says: /more header fields than a client reads/,
    bytes: onRequest(socket => {
      socket.write(OK)
      pour(socket, 'X-Filler: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n')
    }),
  },
  {
    name: 'sends a body for ever',
    says: /a body of more than 2 MiB/,
    bytes: onRequest(socket => {
      socket.write(`${OK}\r\n`)
      pour(socket, '[')
    }),
  },
  {
    name: 'sends 500 MiB in half a megabyte of gzip',
    says: /a body of more than 2 MiB/,
    http: () => {
      // Elsewhere, as other servers of this process answer meanwhile.
      const bomb = promisify(gzip)(Buffer.alloc(500 * MEBIBYTE, ' '))
      return async (_, response) =>
        void response.setHeader('Content-Encoding', 'gzip').end(await bomb)
    },
  },
  {
    name: 'sends no gzip where it says gzip',
    says: /a body that its Content-Encoding cannot decode/,
    http: () => (_, response) => void response.setHeader('Content-Encoding', 'gzip').end('[]'),
  },
  {
    name: 'nests a list as deep as 2 MiB allow',
    says: /^list\.answer: 200/,
    http: () => afterFirst(text(200, '['.repeat(MEBIBYTE) + ']'.repeat(MEBIBYTE - 1))),
  },
  {
    name: 'lists as many nothings as 2 MiB allow',
    says: /^list\.limit: 200/,
    http: () => afterFirst(text(200, `[${'[],'.repeat(MEBIBYTE / 2)}[]]`)),
  },

  // Waits
  {
    name: 'asks for no wait at all, for ever',
    says: /^Others use the key as well: its requests keep getting 429$/,
    http: () => rejecting({ 'Retry-After': '0' }),
  },
  {
    name: 'asks for a wait in milliseconds',
    says: /^The key is exhausted until [^ ]+; continue then$/,
    http: () => rejecting({ 'Retry-After': '60000000' }),
  },
  {
    name: 'resets in the year 9999',
    says: /ratelimit\.headers: 200/,
    http: () => right({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '253402300799' }),
  },

  // Wrong everywhere
  {
    name: 'fails at everything',
    says: /^list\.empty: 500/,
    http: () => text(500, '{}'),
  },
]

/** Listens on a port of this machine. */
export async function openHostile({
  bytes,
  http,
}: HostileServer): Promise<{ baseUrl: string; close(): void }> {
  const sockets = new Set<Socket>()
  const server = http ? createHttpServer(http()) : createServer(bytes)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function onRequest(answer: (socket: Socket) => void): (socket: Socket) => void {
  return socket => void socket.once('data', () => answer(socket))
}

/** The same text, as fast as it is read. */
function pour(socket: Socket, text: string): void {
  const piece = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', write)
  write()
}

/** Our own server, with other header fields. */
function right(fields: Readonly<Record<string, string>> = {}): RequestListener {
  const apiKeys = { [KEY]: { id: 'main', plan: 'business' } } as const
  const store = createStore({ storage: memoryStorage(), apiKeys })
  const handler: ApiHandler = {
    ...store,
    async handle(request) {
      const answer = await store.handle(request)
      return { ...answer, headers: { ...answer.headers, ...fields } }
    },
  }
  return toNodeHandler(handler)
}

/** Right until the first request is answered, so that the run begins. */
function afterFirst(answer: RequestListener): RequestListener {
  const serve = right()
  let count = 0
  return (request, response) => (count++ === 0 ? serve : answer)(request, response)
}

function text(status: number, body: string): RequestListener {
  return (_, response) =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(body)
}

function rejecting(headers: Record<string, string>): RequestListener {
  return (_, response) => void response.writeHead(429, headers).end('{}')
}
