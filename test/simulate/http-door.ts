import http, { type Server } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { Duplex } from 'node:stream'
import { listen } from '../../adapters/http/index.js'
import type { ApiRequest, Store } from '../../src/index.js'
import type { Door, DoorOptions } from './door.js'
import type { WireRequest, WireResponse } from './network.js'
import { type Choices, choicesOf } from './random.js'
import type { Delay } from './scheduler.js'
import { Violation } from './violation.js'

/** Between two pieces of a request, and until a client reads that does not read at once, in ms. */
export const LONGEST_PAUSE = 200
const PAUSE: Delay = { least: 0.1, most: LONGEST_PAUSE }
/** Names a request, so that the handler knows it again. */
const NUMBER = 'x-simulated'

interface Sent {
  readonly request: WireRequest
  /** All of it has arrived while the server takes requests, or the handler has it. */
  isTaken: boolean
  readonly resolve: (response: WireResponse) => void
  readonly reject: (error: Error) => void
}

/** A connection as its client sees it. */
interface Connection {
  readonly socket: ServerEnd
  /** In the order in which the responses come. */
  readonly waiting: Sent[]
  received: string
  /** How much has to be received before it is worth looking. */
  needed: number
  isSending: boolean
  isOver: boolean
  isReading: boolean
  /** What it reads as soon as it reads. */
  unread: (() => void) | undefined
}

/**
 * The HTTP server of the package on simulated sockets. Requests come in pieces, also before the response
 * to the one ahead of them; a client that is cut off half-closes, and some read slowly.
 */
export async function createHttpDoor(store: Store, options: DoorOptions): Promise<Door> {
  const { seed, scheduler, decide, fail } = options
  const numbered = new Map<string, Sent>()
  const connections = new Map<string, Connection>()
  const all = new Set<Connection>()
  let requests = 0
  let isOpen = true
  let isDead = false
  const { basePath, maxBodyBytes } = store
  const { server, listening } = withoutPort(() => listen({ basePath, maxBodyBytes, handle }))
  const { drain } = await listening

  return {
    answer: request =>
      new Promise((resolve, reject) => {
        const choices = choicesOf(seed, 'connection', request.from, ++requests)
        send(connectionFor(request, choices), { request, isTaken: false, resolve, reject }, choices)
      }),
    close() {
      isOpen = false
      return drain(choicesOf(seed, 'drain', requests).pick([0, 20]))
    },
    destroy() {
      isDead = true
      for (const { socket } of all) socket.destroy()
    },
  }

  function handle(given: ApiRequest) {
    const sent = numbered.get(given.headers[NUMBER] ?? '')
    if (!sent) return store.handle(given)
    sent.isTaken = true
    return decide(sent.request, async () => store.handle(given))
  }

  /** Most clients keep their connections. */
  function connectionFor({ from, address, isCut }: WireRequest, choices: Choices): Connection {
    const known = connections.get(from)
    // Whoever half-closes may be taken for gone: a create that it waits for is not stored then.
    const isFree = known && !known.isOver && !known.isSending && !isCut
    if (isFree && choices.chance(0.8)) return known
    const socket = new ServerEnd(address, {
      read(bytes, done) {
        connection.unread = () => {
          read(connection, bytes.toString('latin1'))
          done()
        }
        readOn(connection)
      },
      end: () => end(connection),
    })
    const connection: Connection = {
      ...{ socket, waiting: [], received: '', needed: 0, unread: undefined },
      ...{ isSending: false, isOver: false, isReading: true },
    }
    connections.set(from, connection)
    all.add(connection)
    server.emit('connection', socket)
    return connection
  }

  function send(connection: Connection, sent: Sent, choices: Choices): void {
    const { request } = sent
    const number = `${requests}`
    numbered.set(number, sent)
    connection.waiting.push(sent)
    connection.isSending = true
    if (connection.isReading && choices.chance(0.2)) {
      connection.isReading = false
      scheduler.later(`reader ${request.from}`, PAUSE, () => {
        connection.isReading = true
        readOn(connection)
      })
    }
    const bytes = bytesOf(request, number)
    const at = choices.pick([0, choices.below(bytes.length)])
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
    push()

    function push(): void {
      const piece = pieces.shift()
      if (connection.isOver) return
      connection.socket.push(piece)
      if (pieces.length > 0) return void scheduler.later(`rest of ${request.from}`, PAUSE, push)
      if (request.isCut) {
        connection.socket.push(null)
        return
      }
      connection.isSending = false
      sent.isTaken ||= isOpen
    }
  }

  function readOn(connection: Connection): void {
    const { unread } = connection
    if (!connection.isReading || !unread) return
    connection.unread = undefined
    unread()
  }

  function read(connection: Connection, text: string): void {
    connection.received += text
    while (connection.received.length > connection.needed) {
      const [sent] = connection.waiting
      const response = sent && responseIn(connection.received, sent.request.method)
      connection.needed = 0
      if (!response) return
      if (response.length > connection.received.length) {
        connection.needed = response.length - 1
        return
      }
      connection.received = connection.received.slice(response.length)
      connection.waiting.shift()
      if (response.isLast) connection.isOver = true
      sent.resolve(response)
    }
  }

  /** The server sends no more. */
  function end(connection: Connection): void {
    connection.isOver = true
    all.delete(connection)
    if (!connection.socket.readableEnded) connection.socket.push(null)
    for (const { isTaken, request, reject } of connection.waiting.splice(0)) {
      if (isDead) return
      const { method, target, from } = request
      const what = `${method} ${target} of ${from}`
      if (isTaken) fail(new Violation('response.sent', `${what} got no response`))
      reject(new Error(`${what} was reset`))
    }
    if (connection.received !== '' && !isDead) {
      fail(new Violation('response.sent', `nobody asked for ${connection.received.slice(0, 200)}`))
    }
  }
}

interface ClientEnd {
  readonly read: (bytes: Buffer, done: () => void) => void
  readonly end: () => void
}

/** The end of a connection that the server has. */
class ServerEnd extends Duplex {
  readonly remoteAddress: string
  readonly #client: ClientEnd

  constructor(remoteAddress: string, client: ClientEnd) {
    super({ highWaterMark: 4_096 })
    this.remoteAddress = remoteAddress
    this.#client = client
  }
  override _read(): void {}
  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.#client.read(bytes, done)
  }
  override _final(done: () => void): void {
    this.#client.end()
    done()
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#client.end()
    done(error)
  }
}

/** What is listened to meanwhile has no port: its connections come by `emit`. */
function withoutPort<T>(task: () => T): { readonly server: Server; readonly listening: T } {
  const { createServer } = http
  let server = createServer()
  const open = new Set<Duplex>()
  let closed = () => {}
  const closeIfIdle = () => open.size === 0 && queueMicrotask(closed)
  http.createServer = ((options: object) => {
    server = createServer(options)
    server.on('connection', socket => {
      open.add(socket)
      socket.on('close', () => {
        open.delete(socket)
        closeIfIdle()
      })
    })
    return Object.assign(server, {
      listen: (_port: number, _host: string, done: () => void) => queueMicrotask(done),
      address: () => ({ address: '127.0.0.1', port: 80 }),
      close(done: () => void) {
        closed = done
        closeIfIdle()
      },
    })
  }) as typeof createServer
  syncBuiltinESMExports()
  try {
    const listening = task()
    return { server, listening }
  } finally {
    http.createServer = createServer
    syncBuiltinESMExports()
  }
}

/** Half of the body, if it is cut off. */
function bytesOf({ method, target, headers, body, isCut }: WireRequest, number: string): Buffer {
  const bytes = Buffer.from(body ?? '')
  const fields = {
    ...headers,
    ...{ host: 'store.test', [NUMBER]: number },
    ...(body !== undefined && { 'content-length': String(bytes.length) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`
  const sent = isCut ? bytes.subarray(0, bytes.length >> 1) : bytes
  return Buffer.concat([Buffer.from(head), sent])
}

/** The first response, if its head is there; its length may be that of more than is there. */
function responseIn(received: string, method: string) {
  const bodyAt = received.indexOf('\r\n\r\n') + 4
  if (bodyAt < 4) return undefined
  const [line = '', ...fields] = received.slice(0, bodyAt - 4).split('\r\n')
  const {
    connection,
    'keep-alive': _,
    ...headers
  } = Object.fromEntries(
    fields.map(field => {
      const [name = '', value] = field.split(/: (.*)/s)
      return [name.toLowerCase(), value]
    }),
  ) as Record<string, string>
  const length = bodyAt + (method === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0))
  const body = Buffer.from(received.slice(bodyAt, length), 'latin1').toString()
  const status = Number(line.split(' ')[1])
  return { status, headers, body, length, isLast: connection === 'close' }
}
