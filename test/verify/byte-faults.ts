import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A server whose HTTP is wrong, as a proxy that rewrites bytes in front of a right one. */
export interface ByteFault {
  readonly request?: (text: string) => string
  readonly response?: (text: string, request: string) => string
}

/** By the id of the check that names what is wrong. */
export const BYTE_FAULTS: Readonly<Record<string, ByteFault>> = {
  'http.chunked': {
    request: text => text.replace(/Transfer-Encoding: chunked/i, 'Content-Length: 1'),
  },
  'http.refused-body': {
    request: text =>
      text.includes('GET / HTT') ? text.replace(/Content-Length: 9/i, 'X: 9') : text,
  },
  'http.absolute-form': { request: text => text.replace('GET http://', 'GET /http://') },
  'http.head-empty': { request: text => text.replace(/^HEAD (\S+limit=1)/, 'GET $1') },
  'robust.body-limit': {
    response: (text, request) =>
      request.startsWith('   ') ? text.replace('HTTP/1.1 413', 'HTTP/1.1 201') : text,
  },
}

/** Listens in front of a port of this machine. */
export async function openProxy(
  { request = text => text, response = text => text }: ByteFault,
  port: number,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const clients = new Set<Socket>()
  const server: Server = createServer(client => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    const upstream = connect({ port, host: '127.0.0.1' })
    let latest = ''
    client.on('data', chunk => {
      latest = chunk.toString('latin1')
      upstream.write(request(latest), 'latin1')
    })
    upstream.on('data', chunk => {
      client.write(response(chunk.toString('latin1'), latest), 'latin1')
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('end', () => other.end())
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const client of clients) client.destroy()
      }),
  }
}
