import { type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse } from '../../src/api.js'

/** How a network can lose an answer: a TCP reset, silence, or half of the body and then the end. */
export type LostBy = 'reset' | 'hang' | 'truncate'

/** An answer that a handler may want to be lost on its way, to show what a client makes of it. */
export interface LosableAnswer extends ApiResponse {
  readonly lostBy?: LostBy | undefined
}

/** Writes what the answer says and nothing more: no header of Node's own but `Keep-Alive`. */
export function writeAnswer(response: ServerResponse, answer: LosableAnswer, last: boolean): void {
  const { status, headers, body, lostBy } = answer
  if (lostBy === 'reset') {
    response.req.socket.resetAndDestroy()
    return
  }
  response.sendDate = false
  response.writeHead(
    status,
    last ? { ...headers, Connection: 'close' } : (headers as OutgoingHttpHeaders),
  )
  if (lostBy === 'truncate') {
    response.write(firstHalf(body))
    response.socket?.destroySoon()
    return
  }
  // As many bytes as characters: Node copies those without looking at each.
  response.end(body, headers['Content-Length'] === String(body.length) ? 'latin1' : 'utf8')
}

/** Half of the bytes, for an answer that announces all of them. */
export function firstHalf(body: string): Uint8Array {
  const bytes = Buffer.from(body)
  return bytes.subarray(0, bytes.length >> 1)
}

/** For how long what still arrives is read and dropped, in ms. */
const LINGER = 1_000

/** The same where there is a socket but no response, because Node could not read a request. */
export function writeLastAnswer(socket: Socket, { status, headers, body }: ApiResponse): void {
  const fields = Object.entries({ ...headers, Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
  // RFC 9112 §9.6: closed at once, the answer could be lost with what the client has yet to send.
  socket.resume()
  const lingering = setTimeout(() => socket.destroy(), LINGER)
  socket.once('close', () => clearTimeout(lingering))
}
