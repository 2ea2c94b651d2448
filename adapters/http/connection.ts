import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse, Connection as Identity } from '../../src/api.js'
import { subscriber } from './subscriber.js'
import { writeLastAnswer } from './write-answer.js'

/** The answers on their way out through one socket, in the order they leave it. */
export interface Connection {
  /** What the handler knows it by. */
  readonly identity: Identity | undefined
  /** Who is at the other end. */
  readonly client: string | undefined
  /** A request came, and this will be its answer. */
  add(response: ServerResponse): void
  /** Somebody else delivers the last answer: nothing here waits for it, or for those behind it. */
  handOver(): void
  /** Whether no answer is waited for that is still to come. */
  isIdle(): boolean
  /** Whether it waits, after an answer, for the next request. */
  isKeptAlive(): boolean
  /** Whether no request came after the one that this answers. */
  isLast(response: ServerResponse): boolean
  /** Closes the socket as soon as what is under way is answered. */
  closeWhenIdle(): void
  /**
   * Ends the connection after the answers before, with one more to what could not be read, if there
   * is any.
   */
  end(answer: () => Promise<ApiResponse | undefined>): void
}

export function createConnection(socket: Socket, identity: Identity | undefined): Connection {
  // As answers leave in order, these two tell of all that are pending.
  let last: ServerResponse | undefined
  let secondLast: ServerResponse | undefined
  let asked = false
  let ending = false
  let handedOver = false
  if (identity) {
    socket.once('end', () => identity.end())
    socket.once('close', () => identity.end())
  }

  const connection: Connection = {
    identity,
    client: subscriber(socket.remoteAddress),
    add(response) {
      asked = true
      secondLast = last
      last = response
      response.on('close', forget)
    },
    handOver() {
      handedOver = true
    },
    isIdle: () => handedOver || !isPending(last),
    isKeptAlive: () => asked && !isPending(last),
    isLast: response => response === last,
    closeWhenIdle() {
      if (connection.isIdle()) socket.destroySoon()
      else last?.once('close', connection.closeWhenIdle)
    },
    end(answer) {
      // What goes on arriving fails again and again.
      if (ending) return
      ending = true
      const unread = last?.req.complete === false ? last : undefined
      const finish = async () => {
        // A request may be answered before its body is there; then that was the answer.
        const final = unread?.headersSent ? undefined : await answer()
        if (final) writeLastAnswer(socket, final)
        else socket.destroy()
      }
      const previous = unread && !unread.headersSent ? secondLast : last
      if (isPending(previous)) previous.once('close', finish)
      else void finish()
    },
  }
  return connection

  /** One function for all answers, and none is kept for longer than its request takes. */
  function forget(this: ServerResponse): void {
    if (this === secondLast) secondLast = undefined
    else if (this === last && this.req.complete) last = undefined
  }
}

function isPending(response: ServerResponse | undefined): response is ServerResponse {
  return response !== undefined && !response.closed
}
