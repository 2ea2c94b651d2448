import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** Answers in place of the service, with a body of the shape of its errors (spec §7). */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  code = 'invalid_request',
): void {
  const body = errorBody(status, message, code)
  // The rest of the request is not read.
  if (!response.req.complete) response.shouldKeepAlive = false
  response.writeHead(status, headersOf(body))
  response.end(body)
  response.req.resume()
}

/** Answers what is not a request that Node understands. */
export function refuseSocket(socket: Socket, status: number, message: string): void {
  if (!socket.writable) return void socket.destroy()
  const body = errorBody(status, message, 'invalid_request')
  const fields = Object.entries({ ...headersOf(body), Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
}

function errorBody(status: number, message: string, code: string): string {
  return JSON.stringify({ code, message, status })
}

function headersOf(body: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    // RFC 9209: it comes from the proxy.
    'Proxy-Status': 'animal-adoption-store',
  }
}
