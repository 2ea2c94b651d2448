import { type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse } from '../../src/api.js'

/** Writes what the answer says and nothing more: no header of Node's own but `Keep-Alive`. */
export function writeAnswer(response: ServerResponse, answer: ApiResponse, last: boolean): void {
  const { status, headers, body } = answer
  response.sendDate = false
  response.writeHead(
    status,
    last ? { ...headers, Connection: 'close' } : (headers as OutgoingHttpHeaders),
  )
  // As many bytes as characters: Node copies those without looking at each.
  response.end(body, headers['Content-Length'] === String(body.length) ? 'latin1' : 'utf8')
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
