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

/** The status of every answer in the text, in order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

/** The Error body of the last answer in the text. */
export function lastError(text: string): { code: string; message: string; status: number } {
  return JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)) as ReturnType<typeof lastError>
}
