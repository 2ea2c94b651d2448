import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse, Connection as Identity } from '../../src/api.js'
import type { ApiError } from '../../src/errors.js'

/** What a socket of our own server does beyond what Node does with it. */
export type Connection = ReturnType<typeof createConnection>

/** How often an idle connection is looked at before it is destroyed. */
export const LOOKS = 4

/** How long what still arrives is read and dropped before a socket is destroyed, in ms. */
const LINGER = 1_000

export function createConnection(socket: Socket, identity: Identity | undefined) {
  // Answers leave in order: once the last one has left, all have.
  let last: ServerResponse | undefined
  // Without a request, the time limit for headers applies.
  let looks = Number.NEGATIVE_INFINITY
  let closing = false
  let ending = false
  let handedOver = false
  // Node calls this after an answer that says `Connection: close`, and would destroy the socket.
  socket.destroySoon = endGently
  if (identity) for (const end of ['end', 'close']) socket.once(end, () => identity.end())

  return {
    /** What the handler knows it by. */
    identity,
    /** @returns false when the connection is ending, so that the request is to be ignored */
    begin(response: ServerResponse): boolean {
      if (ending || (last?.headersSent && !last.shouldKeepAlive)) return false
      looks = 0
      last = response
      response.on('close', forget)
      return true
    },
    isClosing: () => closing,
    /** Whether the server is closing and no request came after the one that this answers. */
    isLast: (response: ServerResponse) => closing && response === last,
    /** Somebody else delivers the last answer: nothing here waits for it, or for those behind it. */
    handOver(): void {
      handedOver = true
      if (closing && !ending) socket.destroy()
    },
    closeWhenIdle(): void {
      closing = true
      whenIdle(() => ending || socket.destroy())
    },
    /** Node's timer restarts with every byte, so that line breaks would keep a connection for ever. */
    look(): void {
      if (!isPending(last) && ++looks > LOOKS) socket.destroy()
    },
    /**
     * Ends the connection because of what could not be read. That fails the body it belongs to;
     * anything else gets an answer of its own, after the answers before.
     */
    refuse(refusal: ApiError | undefined, answer: () => Promise<ApiResponse>): void {
      // What goes on arriving fails again and again.
      if (ending) return
      ending = true
      if (!refusal || !socket.writable) return void socket.destroy()
      const unread = last?.req.complete === false ? last : undefined
      if (unread) {
        unread.shouldKeepAlive = false
        // What came in the same piece is served in a microtask before.
        queueMicrotask(() => unread.req.emit('error', refusal))
      }
      whenIdle(async () => {
        if (!unread) writeWithoutResponse(socket, await answer())
        endGently()
      })
    },
  }

  function whenIdle(act: () => void): void {
    if (handedOver || !isPending(last)) act()
    else last.once('close', () => whenIdle(act))
  }

  /** One function for all answers, and none is kept for longer than its request takes. */
  function forget(this: ServerResponse): void {
    if (this === last && this.req.complete) last = undefined
  }

  /** RFC 9112 §9.6: destroyed while the client sends, a socket can lose the answer with a reset. */
  function endGently(): void {
    ending = true
    if (socket.writableEnded || socket.destroyed) return
    socket.end(() => {
      const lingering = setTimeout(() => socket.destroy(), LINGER)
      socket.once('close', () => clearTimeout(lingering))
    })
    socket.resume()
  }
}

function isPending(response: ServerResponse | undefined): response is ServerResponse {
  return response !== undefined && !response.closed
}

/** Where Node could not read a request, there is a socket but no response. */
function writeWithoutResponse(socket: Socket, { status, headers, body }: ApiResponse): void {
  const fields = Object.entries({ ...headers, Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
}
