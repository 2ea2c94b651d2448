import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { encode, isComplete } from './exchange.mjs'

/**
 * Keeps `connections` connections busy for some seconds, with one request at a time on each.
 *
 * @returns the number of requests, and of those that failed
 */
export async function load({ origin, workload, connections, seconds }) {
  const { port, host } = new URL(origin)
  const requests = workload.requests.map(request =>
    typeof request === 'function' ? () => encode(request(), host) : encode(request, host),
  )
  const expected = `HTTP/1.1 ${workload.status} `
  let count = 0
  let failed = 0
  let running = true
  let next = 0

  const sockets = Array.from({ length: connections }, client)
  await delay(seconds * 1000)
  running = false
  for (const socket of sockets) socket.destroy()
  return { count, failed }

  function client() {
    const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
    let received
    socket.on('connect', send)
    socket.on('data', chunk => {
      received = received ? Buffer.concat([received, chunk]) : chunk
      if (!isComplete(received)) return
      if (running) count++
      if (received.latin1Slice(0, expected.length) !== expected) failed++
      received = undefined
      if (running) send()
    })
    socket.on('error', () => failed++)
    socket.on('close', () => running && failed++)
    return socket

    function send() {
      const request = requests[next]
      socket.write(typeof request === 'function' ? request() : request)
      next = (next + 1) % requests.length
    }
  }
}

/** The same of several servers together, which share the connections. */
export async function loadTogether(servers, { connections, ...given }) {
  const share = connections / servers.length
  const runs = await Promise.all(
    servers.map(({ origin }) => load({ origin, connections: share, ...given })),
  )
  const total = field => runs.reduce((sum, run) => sum + run[field], 0)
  return { count: total('count'), failed: total('failed') }
}
