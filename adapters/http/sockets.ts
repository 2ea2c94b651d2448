import { AsyncResource } from 'node:async_hooks'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../../src/api-error.js'
import type { ApiResponse, Connection } from '../../src/protocol/api-request.js'
import { clearTimeout, setImmediate, setTimeout } from '../platform.js'

export type HttpConnection = ReturnType<typeof createHttpConnection>

/** Minimum wait for a half-closed client, in ms. */
const HALF_CLOSED = 250

/** Time in ms for discarding incoming data before a socket is destroyed. */
const LINGER = 1_000

/** Runs a task once everything that has arrived on any connection is parsed. */
export type Later = (task: () => void) => void

/** Each task has its own async context, for tracing. An immediate per task takes 4 to 7 % more CPU time. */
export function createLater(): Later {
  let waiting: (() => void)[] = []

  return task => {
    const context = new AsyncResource('animal-adoption-store.request')
    if (waiting.push(() => context.runInAsyncScope(task)) === 1) setImmediate(runAll)
  }

  function runAll(): void {
    const tasks = waiting
    waiting = []
    for (const run of tasks) run()
  }
}

export function createHttpConnection(
  socket: Socket,
  tracked: Connection | undefined,
  later: Later,
) {
  // Answers leave in order: once the last one has left, all have.
  let last: ServerResponse | undefined
  let closing = false
  let ending = false
  let handedOver = false
  let pipelined = false
  let deferred: (() => void) | undefined
  // After `Connection: close`, Node calls this and would destroy the socket.
  socket.destroySoon = end
  if (tracked) for (const end of ['end', 'close']) socket.once(end, () => tracked.end())

  return {
    tracked,
    /** Keeps the socket working for the responses before a CONNECT. */
    takeOver: keepForConnect(socket),
    /** @returns false if the connection is ending and ignores the request */
    begin(response: ServerResponse): boolean {
      const before = last
      // The previous request has arrived in full.
      last = response
      serveDeferred()
      if (ending || before?.shouldKeepAlive === false) {
        last = before
        return false
      }
      pipelined = isPending(before)
      return true
    },
    /**
     * Serves a new request once everything that has arrived is parsed, on every connection: its body,
     * on closing further requests, and others, as serving them side by side is faster.
     */
    defer(serve: () => void): void {
      deferred = serve
      later(serveDeferred)
    },
    /** Runs `act` for a late request, unless the rest has arrived unread. */
    ifStillLate(act: () => void): void {
      const [before, wasComplete] = [last, last?.req.complete]
      setImmediate(() => {
        if (last === before && last?.req.complete === wasComplete) act()
      })
    },
    isPipelined: () => pipelined,
    isGone: watchEnd(socket),
    /** True on closing, if no request followed that of this response. */
    isLast: (response: ServerResponse) => closing && response === last,
    /** Stops waiting for the last response, which never ends, and for those behind it. */
    handOver(): void {
      handedOver = true
      if (closing && !ending) socket.destroy()
    },
    /** Lets the last response end the connection. */
    endWithResponse(): void {
      closing = true
    },
    closeWhenIdle(): void {
      whenIdle(() => ending || socket.destroy())
    },
    /**
     * Ends the connection after unreadable bytes. Within a body they fail that body; otherwise they
     * get their own response, after all earlier ones.
     */
    refuse(refusal: ApiError | undefined, answer: () => Promise<ApiResponse>): void {
      // Data that keeps arriving fails again.
      if (ending) return
      serveDeferred()
      ending = true
      if (!refusal || !socket.writable) return void socket.destroy()
      const unread = last?.req.complete === false ? last : undefined
      if (unread) {
        unread.shouldKeepAlive = false
        unread.req.emit('error', refusal)
      }
      whenIdle(async () => {
        // The last response may have ended the connection.
        if (!unread && socket.writable) writeWithoutResponse(socket, await answer())
        end()
      })
    },
  }

  function serveDeferred(): void {
    const serve = deferred
    deferred = undefined
    serve?.()
  }

  function whenIdle(act: () => void): void {
    if (handedOver || !isPending(last)) act()
    else last?.once('close', () => whenIdle(act))
  }

  function end(): void {
    ending = true
    endGently(socket)
  }
}

/** Reads on: destroying a socket that still receives can lose the answer (RFC 9112 §9.6). */
function endGently(socket: Socket): void {
  if (socket.writableEnded || socket.destroyed) return
  socket.end(() => {
    const lingering = setTimeout(() => socket.destroy(), LINGER)
    socket.once('close', () => clearTimeout(lingering))
  })
  socket.resume()
}

/** On CONNECT, Node abandons the socket, whose responses still need drain events and an error listener. */
function keepForConnect(socket: Socket): () => void {
  // Node's listener, which passes the event on to the current response.
  const drains = socket.listeners('drain') as (() => void)[]
  return () => {
    for (const drain of drains) socket.on('drain', drain)
    socket.on('error', () => {})
  }
}

/** True if the client seems to have disconnected; a half-closed connection looks the same. */
function watchEnd(socket: Socket): () => boolean {
  let endedAt = Number.POSITIVE_INFINITY
  socket.once('end', () => {
    endedAt = performance.now()
  })
  return () => socket.destroyed || performance.now() - endedAt > HALF_CLOSED
}

/** Avoids `closed`, which Deno lacks. */
function isPending(response: ServerResponse | undefined): boolean {
  return response !== undefined && !response.destroyed
}

/** Answers a request that Node could not read, for which it makes no response object. */
function writeWithoutResponse(socket: Socket, { status, headers, body }: ApiResponse): void {
  const fields = Object.entries({ ...headers, Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
}
