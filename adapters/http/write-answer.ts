import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiResponse } from '../../src/api.js'

/** Writes what the answer says and nothing more: no header of Node's own but `Keep-Alive`. */
export function writeAnswer(response: ServerResponse, answer: ApiResponse, last: boolean): void {
  const { status, headers, body } = answer
  response.sendDate = false
  response.writeHead(status, last ? { ...headers, Connection: 'close' } : { ...headers })
  response.end(body)
}

/** The same where there is a socket but no response, because Node could not read a request. */
export function writeLastAnswer(socket: Socket, { status, headers, body }: ApiResponse): void {
  const fields = Object.entries({ ...headers, Connection: 'close' })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
  socket.destroySoon()
}
