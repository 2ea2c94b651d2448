import { rawService } from '../judge/raw-service.js'

/** A request as bytes on a socket, each byte as one character. Names of headers are in lower case. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  /** Sorted by name. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** A server that understands nothing but where a request ends. */
export async function recordRequests() {
  const requests: RawRequest[] = []
  const service = await rawService((socket, received) => {
    const request = parse(received)
    if (request !== undefined) {
      requests.push(request)
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    } else if (received.endsWith('\r\n\r\n') && /^expect:/im.test(received)) {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    }
  })
  return { ...service, origin: new URL(service.url).origin, requests }
}

/** The request once it is complete. */
function parse(text: string): RawRequest | undefined {
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
  if (body === undefined) return undefined
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
