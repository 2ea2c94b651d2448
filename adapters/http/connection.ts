import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse } from '../../src/api.js'
import { type ConnectionSpan, endSpan, openSpan } from './connection-span.js'
import { writeLastAnswer } from './write-answer.js'

/** The answers on their way out through one socket, in the order they leave it. */
export interface Connection {
  readonly span: ConnectionSpan
  /** A request came, and this will be its answer. */
  add(response: ServerResponse): void
  /** What came last is never answered, nor is anything behind it. */
  hang(): void
  /** Whether no answer is waited for that is still to come. */
  isIdle(): boolean
  /** Whether no request came after the one that this answers. */
  isLast(response: ServerResponse): boolean
  /**
   * Ends the connection after the answers before, with one more to what could not be read, if there
   * is any.
   */
  end(answer: () => Promise<ApiResponse | undefined>): void
}

export function createConnection(socket: Socket): Connection {
  const pending = new Set<ServerResponse>()
  let last: ServerResponse | undefined
  let ending = false
  let hanging = false
  const span = openSpan()
  socket.once('end', () => endSpan(span))
  socket.once('close', () => endSpan(span))

  return {
    span,
    add(response) {
      last = response
      pending.add(response)
      response.once('close', () => pending.delete(response))
    },
    hang() {
      hanging = true
    },
    isIdle: () => hanging || pending.size === 0,
    isLast: response => response === last,
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
      const before = [...pending].filter(response => response !== unread || response.headersSent)
      const previous = before.at(-1)
      if (previous) previous.once('close', finish)
      else void finish()
    },
  }
}
