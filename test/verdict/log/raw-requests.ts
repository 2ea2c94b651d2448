import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A request as bytes on a socket, each byte as one character. Names of headers are in lower case. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  /** Sorted by name. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** A server that understands nothing but where a request ends. */
export interface RequestRecorder extends AsyncDisposable {
  readonly origin: string
  readonly requests: readonly RawRequest[]
}

export async function recordRequests(): Promise<RequestRecorder> {
  const requests: RawRequest[] = []
  const server = createServer(socket => {
    let received = ''
    let isExpected = false
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('data', chunk => {
      received += chunk
      const request = parse(received)
      if (request === 'headers' && !isExpected && /^expect:/im.test(received)) {
        isExpected = true
        socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      }
      if (typeof request !== 'object') return
      requests.push(request)
      answer(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}

function answer(socket: Socket): void {
  socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
}

/** The request once it is complete, until then what has been read of it. */
function parse(text: string): RawRequest | 'headers' | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  // The target may contain spaces.
  const method = first.slice(0, first.indexOf(' '))
  const target = first.slice(method.length + 1, first.lastIndexOf(' '))
  const headers = lines.map(line => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  const fields = new Map(headers)
  const rest = text.slice(end + 4)
  const body = fields.has('transfer-encoding')
    ? unchunked(rest)
    : complete(rest, Number(fields.get('content-length') ?? 0))
  if (body === undefined) return 'headers'
  return { method, target, headers: headers.toSorted(([a], [b]) => (a < b ? -1 : 1)), body }
}

function complete(rest: string, length: number): string | undefined {
  return rest.length < length ? undefined : rest
}

function unchunked(rest: string): string | undefined {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const length = Number.parseInt(rest.slice(at, lineEnd), 16)
    const start = lineEnd + 2
    if (rest.length < start + length + 2) return undefined
    if (length === 0) return body
    body += rest.slice(start, start + length)
    at = start + length + 2
  }
}
