import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPatience } from '../adapters/redis/patience.js'

const NEVER = new Promise<never>(() => {})
const AWAY = { name: 'RedisError', message: 'Redis did not answer within 10 ms' }

test('patience - one late reply rejects all that wait, and nothing is sent until a ping', async () => {
  const server = fakeServer()
  const patience = createPatience({ patienceMs: 10, ping: server.ping, reconnect: () => {} })
  server.frozen = true
  const waiting = [1, 2, 3].map(() => patience.wait(server.call))
  for (const call of waiting) await assert.rejects(call, AWAY)
  assert.equal(server.calls, 3)
  for (let n = 0; n < 5; n++) await assert.rejects(patience.wait(server.call), AWAY)
  assert.equal(server.calls, 3)

  server.frozen = false
  for (let answer = ''; answer !== 'OK'; ) {
    answer = await patience.wait(server.call).catch(() => '')
    await new Promise(setImmediate)
  }
  assert.equal(server.calls, 4)
  assert.ok(server.pings >= 1)
})

test('patience - a busy process does not take itself for an absent server', async () => {
  const patience = createPatience({ patienceMs: 5, ping: async () => {}, reconnect: () => {} })
  // Like a reply in a socket: read only after the timers that are due.
  const read = (resolve: (reply: string) => void) => setImmediate(() => setImmediate(resolve, 'OK'))
  const reply = patience.wait(() => new Promise<string>(read))
  const end = performance.now() + 30
  while (performance.now() < end);
  assert.equal(await reply, 'OK')
  assert.equal(await patience.wait(async () => 'OK'), 'OK')
})

test('patience - a failed call is passed on, and the server is asked again', async () => {
  const patience = createPatience({ patienceMs: 1_000, ping: async () => {}, reconnect: () => {} })
  await assert.rejects(
    patience.wait(async () => Promise.reject(new Error('OOM'))),
    { message: 'OOM' },
  )
  assert.equal(await patience.wait(async () => 'OK'), 'OK')
})

function fakeServer() {
  const server = {
    frozen: false,
    calls: 0,
    pings: 0,
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
