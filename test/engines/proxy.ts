import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A loopback port that leads to another one, as the address of a service does. */
export interface Proxy extends AsyncDisposable {
  readonly port: number
  /** Where new connections lead from now on; open ones stay. */
  lead(target: number): void
  /** Silently drops whatever the open connections send from now on. */
  swallow(): void
}

export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    client.pipe(upstream).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    lead(other) {
      target = other
    },
    swallow() {
      for (const socket of sockets) socket.unpipe().resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
