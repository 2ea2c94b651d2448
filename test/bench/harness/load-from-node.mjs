import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { encode, isComplete } from './exchange.mjs'

/** The same load without wrk. It needs more of a core than the fastest servers do. */
export async function loadFromNode({ origin, workload, connections, seconds }) {
  const { port, host } = new URL(origin)
  const requests = workload.requests.map(request => encode(request, host))
  const expected = `HTTP/1.1 ${workload.status} `
  const latencies = []
  let failed = 0
  let running = true
  let next = 0

  const start = performance.now()
  const sockets = Array.from({ length: connections }, client)
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

  function client() {
    const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
    let sent = 0
    let received
    socket.on('connect', send)
    socket.on('data', chunk => {
      received = received ? Buffer.concat([received, chunk]) : chunk
      if (!isComplete(received)) return
      if (running) latencies.push(performance.now() - sent)
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
