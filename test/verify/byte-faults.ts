import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A server whose HTTP is wrong, as a proxy that rewrites bytes in front of a right one. */
export interface ByteFault {
  readonly name: string
  /** The check that names it. */
  readonly caughtBy: string
  readonly request?: (text: string) => string
  readonly response?: (text: string, request: string) => string
}

export const BYTE_FAULTS: readonly ByteFault[] = [
  {
    name: 'serves requests without Host',
    caughtBy: 'http.host-missing',
    request: text =>
      /^host:/im.test(text) ? text : text.replace('HTTP/1.1\r\n', 'HTTP/1.1\r\nHost: a\r\n'),
  },
  {
    name: 'takes the first of two Hosts',
    caughtBy: 'http.host-twice',
    request: text => text.replace('\r\nHost: other.example', ''),
  },
  {
    name: 'ignores a space before the colon',
    caughtBy: 'http.space-before-colon',
    request: text => text.replace('X-Verify : 1', 'X-Verify: 1'),
  },
  {
    name: 'ignores a Content-Length that is not a number',
    caughtBy: 'http.content-length-invalid',
    request: text => text.replace('\r\nContent-Length: 1e1', ''),
  },
  {
    name: 'takes the first of two Content-Lengths',
    caughtBy: 'http.content-length-differs',
    request: text => text.replace('\r\nContent-Length: 3', ''),
  },
  {
    name: 'answers anything with 200',
    caughtBy: 'http.not-http',
    response: (text, request) =>
      request.startsWith('verify') ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' : text,
  },
  {
    name: 'goes on after Content-Length and chunked in one request',
    caughtBy: 'http.length-and-chunked',
    request: text => text.replace('\r\nContent-Length: 5\r\nTransfer', '\r\nTransfer'),
  },
  {
    name: 'knows no chunked bodies',
    caughtBy: 'http.chunked',
    request: text =>
      text.includes('Content-Length: 5') ? text : text.replace('Encoding: chunked', 'Encoding: x'),
  },
  {
    name: 'refuses what is expected',
    caughtBy: 'http.expect-continue',
    response: (text, request) =>
      request.includes('Expect:') ? text.replace('HTTP/1.1 201', 'HTTP/1.1 400') : text,
  },
  {
    name: 'leaves the body of a refused request unread',
    caughtBy: 'http.refused-body',
    request: text =>
      text.replace('Content-Length: 9\r\n\r\nGET / HTT', '\r\nGET / HTTP/1.1\r\n\r\n'),
  },
  {
    name: 'takes the last of two Authorization fields',
    caughtBy: 'auth.twice',
    request: text => text.replace('Authorization: Bearer verify-unknown-key\r\nA', 'A'),
  },
  {
    name: 'reads bodies of any size',
    caughtBy: 'robust.body-limit',
    response: (text, request) =>
      request.startsWith('   ') ? text.replace('HTTP/1.1 413', 'HTTP/1.1 201') : text,
  },
  {
    name: 'compares the case of field names',
    caughtBy: 'http.field-case',
    request: text => text.replace('AUTHORIZATION:', 'X-Unknown:'),
  },
  {
    name: 'knows no targets in absolute form',
    caughtBy: 'http.absolute-form',
    request: text => text.replace('GET http://', 'GET /http://'),
  },
  {
    name: 'answers pipelined requests in another order',
    caughtBy: 'http.pipelining',
    request: text => {
      const requests = text.split(/(?<=\r\n\r\n)/)
      return requests.length === 3 && text.includes('verify-unknown')
        ? [requests[1], requests[0], requests[2]].join('')
        : text
    },
  },
  {
    name: 'sends content to HEAD',
    caughtBy: 'http.head-empty',
    request: text => text.replace(/^HEAD (?=[\s\S]*\r\n\r\nGET )/, 'GET '),
  },
  {
    name: 'fails on large header fields',
    caughtBy: 'http.large-field',
    response: text => text.replace('HTTP/1.1 431', 'HTTP/1.1 500'),
  },
]

/** Listens in front of a port of this machine. */
export async function openProxy(
  { request = text => text, response = text => text }: Partial<ByteFault>,
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
