import type { Socket } from 'node:net'

/**
 * On CONNECT, Node leaves the socket to the listener and no longer looks after it. The responses that
 * are still being sent need two things: to be told when the socket has room, and a reset that is no
 * uncaught error.
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
