import http, { type Server } from 'node:http'
import { Duplex } from 'node:stream'
import { listen } from '../../adapters/http/index.js'
import type { ApiRequest, Store } from '../../src/index.js'
import type { Door, DoorOptions } from './door.js'
import type { WireRequest, WireResponse } from './network.js'
import { type Choices, choicesOf } from './random.js'
import type { Delay } from './scheduler.js'
import { ensure, Violation } from './violation.js'

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

interface Connection {
  /** True if it may pipeline another request. */
  isFree(): boolean
  send(sent: Sent, number: number, choices: Choices): void
}

/**
 * The HTTP server of the package on simulated sockets. Requests come in pieces, also before the response
 * to the one ahead of them; a client that is cut off half-closes, and some read slowly.
 */
export async function createHttpDoor(store: Store, options: DoorOptions): Promise<Door> {
  const { seed, scheduler, arrives, fail } = options
  const numbered = new Map<string, Sent>()
  const connections = new Map<string, Connection>()
  let requests = 0
  let isOpen = true
  let isDead = false
  const { basePath, maxBodyBytes } = store
  const choices = choicesOf(seed, 'listen')
  const given = { host: choices.pick(['127.0.0.1', '::1']), port: 65_535, proxyHops: 0 }
  const handler = { basePath, maxBodyBytes, handle }
  const { server, open, listening } = withoutPort(() => listen(handler, given))
  const { drain, url } = await listening
  const isRight = url === `http://${given.host.replace('::1', '[::1]')}:80/v1`
  ensure(isRight, 'response.true', () => `the address of the server is ${url}`)

  return {
    answer: request =>
      new Promise((resolve, reject) => {
        const choices = choicesOf(seed, 'connection', request.from, ++requests)
        const connection = connectionFor(request, choices)
        connection.send({ request, isTaken: false, resolve, reject }, requests, choices)
      }),
    close() {
      isOpen = false
      return drain(choicesOf(seed, 'drain', requests).pick([0, 20]))
    },
    destroy() {
      isDead = true
      for (const socket of open) socket.destroy()
    },
  }

  function handle(given: ApiRequest) {
    const sent = numbered.get(given.headers[NUMBER] ?? '')
    if (!sent) return store.handle(given)
    sent.isTaken = true
    arrives(sent.request)
    return store.handle(given)
  }

  /** Most clients keep their connections. */
  function connectionFor({ from, address, isCut }: WireRequest, choices: Choices): Connection {
    const known = connections.get(from)
    // Whoever half-closes may be taken for gone: a create that it waits for is not stored then.
    if (known?.isFree() && !isCut && choices.chance(0.8)) return known
    // As a server that listens to IPv6 too sees IPv4.
    const connection = connect(address.replace(/^\d/, '::ffff:$&'))
    connections.set(from, connection)
    return connection
  }

  /** A connection as its client sees it. */
  function connect(remoteAddress: string): Connection {
    /** In the order in which the responses come. */
    const waiting: Sent[] = []
    let received = ''
    /** Bytes that have to be there before it is worth looking. */
    let needed = 0
    let isSending = false
    let isOver = false
    let isReading = true
    /** Data for it once it reads again. */
    let unread: (() => void) | undefined
    const socket = serverEnd(end, (bytes, done) => {
      unread = () => {
        read(bytes.toString('latin1'))
        done()
      }
      readOn()
    })
    server.emit('connection', Object.assign(socket, { remoteAddress }))
    return { isFree: () => !isOver && !isSending, send }

    function send(sent: Sent, number: number, choices: Choices): void {
      const { request } = sent
      numbered.set(`${number}`, sent)
      waiting.push(sent)
      isSending = true
      if (isReading && choices.chance(0.2)) {
        isReading = false
        scheduler.later(`reader ${request.from}`, PAUSE, () => {
          isReading = true
          readOn()
        })
      }
      const bytes = bytesOf(request, `${number}`)
      const at = choices.pick([0, choices.below(bytes.length)])
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
      push()

      function push(): void {
        const piece = pieces.shift()
        if (isOver) return
        socket.push(piece)
        if (pieces.length > 0) return void scheduler.later(`rest of ${request.from}`, PAUSE, push)
        if (request.isCut) return void socket.push(null)
        isSending = false
        sent.isTaken ||= isOpen
      }
    }

    function readOn(): void {
      if (!isReading) return
      const look = unread
      unread = undefined
      look?.()
    }

    function read(text: string): void {
      received += text
      while (received.length > needed) {
        const [sent] = waiting
        const response = sent && responseIn(received, sent.request.method)
        needed = 0
        if (!response) return
        if (response.length > received.length) {
          needed = response.length - 1
          return
        }
        received = received.slice(response.length)
        waiting.shift()
        if (response.isLast) isOver = true
        sent.resolve(response)
      }
    }

    /** The server sends no more. */
    function end(): void {
      isOver = true
      if (!socket.readableEnded) socket.push(null)
      for (const { isTaken, request, reject } of waiting.splice(0)) {
        if (isDead) return
        const { method, target, from } = request
        const what = `${method} ${target} of ${from}`
        if (isTaken) fail(new Violation('response.sent', `${what} got no response`))
        reject(new Error(`${what} was reset`))
      }
      if (received !== '' && !isDead) {
        fail(new Violation('response.sent', `nobody asked for ${received.slice(0, 200)}`))
      }
    }
  }
}

/** The end of a connection that the server has. */
function serverEnd(end: () => void, write: (bytes: Buffer, done: () => void) => void): Duplex {
  return new Duplex({
    highWaterMark: 4_096,
    read() {},
    write: (bytes, _, done) => write(bytes, done),
    final(done) {
      end()
      done()
    },
    destroy(error, done) {
      end()
      done(error)
    },
  })
}

/** Servers that listen meanwhile have no port: their connections come by `emit`. */
function withoutPort<T>(task: () => T) {
  const { prototype } = http.Server
  const open = new Set<Duplex>()
  let server: Server | undefined
  let closed = () => {}
  const closeIfIdle = () => open.size === 0 && queueMicrotask(closed)
  Object.assign(prototype, {
    listen(this: Server, _port: number, _host: string, done: () => void) {
      server = Object.assign(this, {
        address: () => ({ address: '127.0.0.1', port: 80 }),
        close: (done: () => void) => {
          this.closeIdleConnections()
          closed = done
          closeIfIdle()
        },
      })
      server.on('connection', socket => {
        open.add(socket)
        socket.on('close', () => {
          open.delete(socket)
          closeIfIdle()
        })
      })
      queueMicrotask(done)
    },
  })
  try {
    const listening = task()
    return { server: server as unknown as Server, open, listening }
  } finally {
    Reflect.deleteProperty(prototype, 'listen')
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
  const all: Record<string, string> = {}
  for (const field of fields) {
    const [name = '', value = ''] = field.split(/: (.*)/s)
    all[name.toLowerCase()] = value
  }
  const { connection, 'keep-alive': _, ...headers } = all
  const length = bodyAt + (method === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0))
  const body = Buffer.from(received.slice(bodyAt, length), 'latin1').toString()
  const status = Number(line.split(' ')[1])
  return { status, headers, body, length, isLast: connection === 'close' }
}
