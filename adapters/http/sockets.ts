import { AsyncResource } from 'node:async_hooks'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../../src/errors.js'
import type { ApiResponse, Connection } from '../../src/protocol/api-request.js'

/** What a socket of our own server does in addition to Node. */
export type HttpConnection = ReturnType<typeof createHttpConnection>

/** How long a client that half-closed its connection is sure to be waited for, in ms. */
const HALF_CLOSED = 250

/** How long incoming data is read and discarded before a socket is destroyed, in ms. */
const LINGER = 1_000

/** Runs a task once all that has arrived on any connection is parsed. */
export type Later = (task: () => void) => void

/**
 * All tasks of a turn of the event loop run in one go, each in the async context that it was given
 * in, where tracing looks for its request. An immediate for each would take 4 to 7 % more CPU time.
 */
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
  // Node calls this after an answer that says `Connection: close`, and would destroy the socket.
  socket.destroySoon = end
  if (tracked) for (const end of ['end', 'close']) socket.once(end, () => tracked.end())

  return {
    /** The connection as the handler tracks it. */
    tracked,
    /** Keeps the socket working for the responses before a CONNECT, which has just arrived. */
    takeOver: keepForConnect(socket),
    /** @returns false when the connection is ending, so that the request is to be ignored */
    begin(response: ServerResponse): boolean {
      const before = last
      // The request before is no longer the last, and has arrived in full.
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
     * Serves the request that has just begun once all that has arrived is parsed, on every connection:
     * the rest of its chunk is usually the body, and on closing may be further requests. Requests
     * that arrive together are served side by side, which is faster than one at a time.
     */
    defer(serve: () => void): void {
      deferred = serve
      later(serveDeferred)
    },
    /** Calls back for a request that is late, unless the rest of it has arrived and was not read yet. */
    ifStillLate(act: () => void): void {
      const [before, wasComplete] = [last, last?.req.complete]
      setImmediate(() => {
        if (last === before && last?.req.complete === wasComplete) act()
      })
    },
    /** Whether the last request came before the response to the one ahead of it was sent. */
    isPipelined: () => pipelined,
    isGone: watchEnd(socket),
    /** Whether the server is closing and no request came after the one that this answers. */
    isLast: (response: ServerResponse) => closing && response === last,
    /** The last response never ends: nothing here waits for it, or for those behind it. */
    handOver(): void {
      handedOver = true
      if (closing && !ending) socket.destroy()
    },
    /** From now on, the last response ends the connection. */
    endWithResponse(): void {
      closing = true
    },
    closeWhenIdle(): void {
      whenIdle(() => ending || socket.destroy())
    },
    /**
     * Ends the connection because of bytes that could not be read. If they belong to a body, that
     * body fails; otherwise they get a response of their own, after all earlier ones.
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

/** RFC 9112 §9.6: destroyed while the client sends, a socket can lose the answer with a reset. */
function endGently(socket: Socket): void {
  if (socket.writableEnded || socket.destroyed) return
  socket.end(() => {
    const lingering = setTimeout(() => socket.destroy(), LINGER)
    socket.once('close', () => clearTimeout(lingering))
  })
  socket.resume()
}

/**
 * On CONNECT, Node stops managing the socket. Responses that are still being sent must learn when it
 * has room again, and a reset by the client must not become an uncaught error.
 */
function keepForConnect(socket: Socket): () => void {
  // Node's own, which passes it on to the response whose turn it is.
  const drains = socket.listeners('drain') as (() => void)[]
  return () => {
    for (const drain of drains) socket.on('drain', drain)
    socket.on('error', () => {})
  }
}

/** Whether the client has hung up, as far as one can tell: a half-closed connection looks the same. */
function watchEnd(socket: Socket): () => boolean {
  let endedAt = Number.POSITIVE_INFINITY
  socket.once('end', () => {
    endedAt = performance.now()
  })
  return () => socket.destroyed || performance.now() - endedAt > HALF_CLOSED
}

/** Not by `closed`, which Deno does not have. */
function isPending(response: ServerResponse | undefined): boolean {
  return response !== undefined && !response.destroyed
}

/** When Node could not read a request, there is a socket but no response. */
function writeWithoutResponse(socket: Socket, { status, headers, body }: ApiResponse): void {
  const fields = Object.entries({ ...headers, Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
}
