import { connect } from 'node:net'

/** One exchange on a new connection, as text. */
export async function exchange(origin, request) {
  const { port, host } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    let received = Buffer.alloc(0)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`${origin} closed the connection`)))
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      if (!isComplete(received)) return
      socket.destroy()
      const [head, ...body] = received.toString().split('\r\n\r\n')
      const [statusLine, ...fields] = head.split('\r\n')
      resolve({
        status: Number(statusLine.split(' ')[1]),
        headers: fields.map(field => field.split(/: (.*)/s, 2)),
        body: body.join('\r\n\r\n'),
      })
    })
    socket.write(encode(request, host))
  })
}

/** A request as bytes. */
export function encode({ method, path, headers, body }, host) {
  const fields = Object.entries({ Host: host, ...headers })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`)
}

/** Finds the end of a response by Content-Length, otherwise by the last chunk. */
export function isComplete(received) {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(received.latin1Slice(0, end))?.[1]
  if (length === undefined) return received.latin1Slice(-5) === '0\r\n\r\n'
  return received.length >= end + 4 + Number(length)
}
