import type { Socket } from 'node:net'
import type { Connection } from './connection.js'

/** Node too waits for that much longer than it tells, for what is already on its way, in ms. */
const GRACE = 1_000
const LOOKS = 4

/**
 * Ends connections on which nothing came for `keepAliveTimeout` ms after an answer. Node would start
 * and stop a timer around every request; one that looks at all connections now and then is cheaper.
 *
 * @returns ends the looking
 */
export function endIdleConnections(
  connections: ReadonlyMap<Socket, Connection>,
  keepAliveTimeout: number,
): () => void {
  const seen = new WeakMap<Socket, { readonly bytesRead: number; readonly looks: number }>()
  const timer = setInterval(look, (keepAliveTimeout + GRACE) / LOOKS)
  timer.unref()
  return () => clearInterval(timer)

  function look(): void {
    for (const [socket, connection] of connections) {
      const { bytesRead } = socket
      const before = seen.get(socket)
      const quiet = connection.isKeptAlive() && before?.bytesRead === bytesRead
      const looks = quiet ? before.looks + 1 : 0
      if (looks === LOOKS) socket.destroy()
      seen.set(socket, { bytesRead, looks })
    }
  }
}
