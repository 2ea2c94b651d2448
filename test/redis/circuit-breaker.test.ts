import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCircuitBreaker } from '../../adapters/redis/circuit-breaker.js'

const NEVER = new Promise<never>(() => {})
const AWAY = { name: 'RedisError', message: 'Redis did not answer within 10 ms' }

test('circuit breaker - one late reply rejects all pending calls, and nothing is sent until a ping succeeds', async () => {
  const server = fakeServer()
  const breaker = createCircuitBreaker({ ...server, timeoutMs: 10 })
  server.frozen = true
  const waiting = [1, 2, 3].map(() => breaker.run(server.call))
  server.instant += 10
  for (const call of waiting) await assert.rejects(call, AWAY)
  assert.equal(server.calls, 3)

  server.instant += 499
  for (let n = 0; n < 5; n++) await assert.rejects(breaker.run(server.call), AWAY)
  server.instant += 1
  for (let n = 0; n < 5; n++) await assert.rejects(breaker.run(server.call), AWAY)
  assert.deepEqual({ calls: server.calls, pings: server.pings }, { calls: 3, pings: 1 })

  server.frozen = false
  server.instant += 500
  await assert.rejects(breaker.run(server.call), AWAY)
  assert.equal(await breaker.run(server.call), 'OK')
  assert.deepEqual({ calls: server.calls, pings: server.pings }, { calls: 4, pings: 2 })
})

test('circuit breaker - a new connection is opened every five seconds while the server is away', async () => {
  const server = fakeServer()
  const breaker = createCircuitBreaker({ ...server, timeoutMs: 10 })
  server.frozen = true
  const waiting = breaker.run(server.call)
  server.instant += 10
  await assert.rejects(waiting, AWAY)
  for (const reconnects of [0, 1, 1, 2, 2]) {
    server.instant += 2_600
    await assert.rejects(breaker.run(server.call), AWAY)
    assert.equal(server.reconnects, reconnects)
  }
})

test('circuit breaker - a busy process does not mistake itself for a missing server', async () => {
  const { ping, reconnect } = fakeServer()
  const breaker = createCircuitBreaker({
    timeoutMs: 5,
    ping,
    reconnect,
    now: () => performance.now(),
  })
  // Like a reply in a socket: read only after the timers that are due.
  const read = (resolve: (reply: string) => void) => setImmediate(() => setImmediate(resolve, 'OK'))
  const reply = breaker.run(() => new Promise<string>(read))
  const end = performance.now() + 30
  while (performance.now() < end);
  assert.equal(await reply, 'OK')
  assert.equal(await breaker.run(async () => 'OK'), 'OK')
})

test('circuit breaker - a failed call rejects, and the next one is sent', async () => {
  const breaker = createCircuitBreaker({ ...fakeServer(), timeoutMs: 1_000 })
  const failing = breaker.run(async () => Promise.reject(new Error('OOM')))
  await assert.rejects(failing, { message: 'OOM' })
  assert.equal(await breaker.run(async () => 'OK'), 'OK')
})

function fakeServer() {
  const server = {
    frozen: false,
    instant: 0,
    calls: 0,
    pings: 0,
    reconnects: 0,
    now: () => server.instant,
    reconnect(): void {
      server.reconnects++
    },
    async call(): Promise<string> {
      server.calls++
      return server.frozen ? NEVER : 'OK'
    },
    async ping(): Promise<unknown> {
      server.pings++
      return server.frozen ? NEVER : 'PONG'
    },
  }
  return server
}
