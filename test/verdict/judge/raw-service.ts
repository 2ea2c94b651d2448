import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/**
 * A server that does with its sockets whatever a test wants.
 *
 * @param answer called with what the connection has received so far
 */
export async function rawService(answer: (socket: Socket, received: string) => void) {
  const received: string[] = []
  const sockets: Socket[] = []
  const ended: Promise<unknown>[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    const at = sockets.push(socket) - 1
    received[at] = ''
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    ended[at] = new Promise(resolve => socket.once('end', resolve).once('close', resolve))
    socket.on('data', (chunk: string) => {
      received[at] += chunk
      answer(socket, received[at] ?? '')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    /** Bytes per connection, in the order in which they were opened. */
    received,
    sockets,
    /** When the other side has ended each of them. */
    ended,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Answers each request that has no body. */
export function answering(response: string): (socket: Socket, received: string) => void {
  return (socket, received) => {
    if (received.endsWith('\r\n\r\n')) socket.write(response, 'latin1')
  }
}
