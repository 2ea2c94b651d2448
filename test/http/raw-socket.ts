import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A client that writes bytes as they are, right or wrong. */
export interface RawSocket {
  readonly socket: Socket
  write(text: string | Uint8Array): void
  /** Everything received, once it contains this. Rejects if the other side ends first. */
  until(part: string | RegExp): Promise<string>
  /** Everything received, once the other side has ended. */
  ended(): Promise<string>
}

export async function openSocket(port: number, allowHalfOpen = false): Promise<RawSocket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen })
  let received = ''
  socket.setEncoding('latin1')
  // Bytes received before a reset still count.
  socket.on('error', () => {})
  await once(socket, 'connect')
  const over = new Promise<void>(resolve => {
    socket.once('end', resolve)
    socket.once('close', () => resolve())
  })
  socket.on('data', text => (received += text))

  return {
    socket,
    write: text => void socket.write(text),
    until: part =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (typeof part === 'string' ? !received.includes(part) : !part.test(received)) return
          socket.off('data', check)
          resolve(received)
        }
        socket.on('data', check)
        check()
        void over.then(() => reject(new Error(`Ended after: ${received.slice(-500)}`)))
      }),
    ended: () => over.then(() => received),
  }
}

/** The answer to these bytes up to a part of it; without one, all until the server ends the connection. */
export async function answerTo(
  port: number,
  bytes: string | Uint8Array,
  part?: string | RegExp,
): Promise<string> {
  const client = await openSocket(port)
  client.write(bytes)
  const text = await (part === undefined ? client.ended() : client.until(part))
  client.socket.destroy()
  return text
}

export const GET = 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo\r\n\r\n'
export const POST = GET.replace('GET', 'POST')

/** The request with further header lines. */
export function withHeaders(request: string, lines: string): string {
  return request.replace('\r\n\r\n', `\r\n${lines}\r\n\r\n`)
}

/** The status of every answer in the text, in order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

/** The Error body of the last answer in the text. */
export function lastError(text: string): { code: string; message: string; status: number } {
  return JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)) as ReturnType<typeof lastError>
}
