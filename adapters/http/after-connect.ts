import type { Socket } from 'node:net'

/**
 * On CONNECT, Node hands the socket to the listener and stops managing it. Responses that are still being
 * sent must learn when the socket has room again, and a reset by the client must not become an uncaught
 * error.
 *
 * @param socket one that its server has just accepted
 * @returns what to call on CONNECT
 */
export function keepForConnect(socket: Socket): () => void {
  // Node's own, which passes it on to the response whose turn it is.
  const drains = socket.listeners('drain') as (() => void)[]
  return () => {
    for (const drain of drains) socket.on('drain', drain)
    socket.on('error', () => {})
  }
}
