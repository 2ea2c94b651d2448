import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Keeps `connections` connections busy, with one request at a time on each, for `warmUp` and then
 * `seconds` seconds. Calls `onMeasure` after the warm-up.
 *
 * @returns requests per second, p50 and p99 in ms, and the number of unexpected responses
 */
export async function load({ origin, workload, connections, warmUp, seconds, onMeasure }) {
  const { port, host } = new URL(origin)
  const requests = workload.requests.map(request => encode(request, host))
  const expected = `HTTP/1.1 ${workload.status} `
  const latencies = []
  let failed = 0
  let measuring = false
  let running = true
  let next = 0

  const sockets = Array.from({ length: connections }, () => client(Number(port)))
  await delay(warmUp * 1000)
  onMeasure?.()
  measuring = true
  const start = performance.now()
  await delay(seconds * 1000)
  running = false
  const elapsed = (performance.now() - start) / 1000
  for (const socket of sockets) socket.destroy()

  const sorted = Float64Array.from(latencies).sort()
  const at = share => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return {
    count: sorted.length,
    rate: sorted.length / elapsed,
    p50: at(0.5),
    p99: at(0.99),
    failed,
  }

  function client(port) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let sent = 0
    let received
    socket.on('connect', send)
    socket.on('data', chunk => {
      received = received ? Buffer.concat([received, chunk]) : chunk
      if (!isComplete(received)) return
      if (measuring && running) latencies.push(performance.now() - sent)
      if (received.latin1Slice(0, expected.length) !== expected) failed++
      received = undefined
      if (running) send()
    })
    socket.on('error', () => failed++)
    socket.on('close', () => running && failed++)
    return socket

    function send() {
      sent = performance.now()
      socket.write(requests[next])
      next = (next + 1) % requests.length
    }
  }
}

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

function encode({ method, path, headers, body }, host) {
  const fields = Object.entries({ Host: host, ...headers })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`)
}

/** By Content-Length, otherwise by the last chunk. */
function isComplete(received) {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(received.latin1Slice(0, end))?.[1]
  if (length === undefined) return received.latin1Slice(-5) === '0\r\n\r\n'
  return received.length >= end + 4 + Number(length)
}
