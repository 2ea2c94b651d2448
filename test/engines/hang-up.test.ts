import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import type { ApiRequest } from '../../src/index.js'
import { createStore } from '../../src/store.js'
import { testUnless } from '../support/test-unless.js'
import { until } from '../support/waiting.js'
import { type Engine, PATIENT, startPostgres, withoutPostgres } from './engines.js'

const skip = withoutPostgres
const test = testUnless(skip)
const postgres = skip ? undefined : await startPostgres()
after(() => postgres?.stop())

for (const idempotencyKey of [false, true]) {
  const what = idempotencyKey ? 'a create with a key' : 'a create'
  test(`hang-up - ${what} that waits for a frozen PostgreSQL is dropped with its client`, async () => {
    await using served = await serve(idempotencyKey ? 'keys' : 'plain')
    const header = (name: string) => (idempotencyKey ? `Idempotency-Key: "${name}"\r\n` : '')
    await using sent = await served.create('sent', header('sent'))
    assert.match(await sent.answer, /^HTTP\/1.1 201 /)
    await (postgres as Engine).signal('SIGSTOP')
    // The first one is sent, and the others wait for its answer.
    await using first = await served.create('first', header('first'))
    const others = ['reset', 'gone', 'half-closed', 'stays']
    const [reset, gone, half, stays] = await Promise.all(
      others.map(name => served.create(name, header(name))),
    )
    reset?.socket.resetAndDestroy()
    gone?.socket.destroy()
    half?.socket.end()
    for (const name of others.slice(0, 3)) await served.untilGone(name)
    await (postgres as Engine).signal('SIGCONT')
    assert.match(await first.answer, /^HTTP\/1.1 201 /)
    assert.match((await stays?.answer) ?? '', /^HTTP\/1.1 201 /)
    // Only this one can still read that nothing was stored.
    assert.match((await half?.answer) ?? '', /^HTTP\/1.1 503 .*"The client hung up before/s)
    const { pets, nextId } = await served.storage.dump()
    assert.deepEqual([pets.map(({ name }) => name), nextId], [['sent', 'first', 'stays'], 4])
    assert.deepEqual(served.failures, [])
    stays?.socket.destroy()
  })
}

test('hang-up - a client that half-closes at once gets its answer', async () => {
  await using served = await serve('half')
  await using call = await served.create('Rex', '', true)
  assert.match(await call.answer, /^HTTP\/1.1 201 /)
})

async function serve(schema: string) {
  const storage = postgresStorage({ url: (postgres as Engine).url, schema, ...PATIENT })
  const limits = { perMinute: 1_000_000, perDay: 1_000_000 }
  const store = createStore({
    storage,
    apiKeys: { secret: { id: 'a', plan: 'enterprise', limits } },
    idempotency: { ttl: 60_000 },
  })
  const failures: unknown[] = []
  store.events.on('storage.failed', ({ error }) => failures.push(error))
  const requests = new Map<string, ApiRequest>()
  const server = await listen(
    {
      ...store,
      handle(request) {
        const answer = store.handle(request)
        requests.set(String(request.headers['x-name']), request)
        return answer
      },
    },
    { port: 0 },
  )
  return {
    storage,
    failures,
    /** Resolves once the server has it. */
    async create(name: string, header: string, end = false) {
      const body = JSON.stringify({ name, categoryId: 1 })
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      const fields = `Host: localhost\r\nAuthorization: Bearer secret\r\nX-Name: ${name}\r\n${header}`
      const text = `POST /v1/pets HTTP/1.1\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
      if (end) socket.end(text)
      else socket.write(text)
      const answer = read(socket)
      await until(() => requests.has(name))
      return { socket, answer, [Symbol.asyncDispose]: async () => void socket.destroy() }
    },
    untilGone: (name: string) => until(() => requests.get(name)?.isGone?.() === true),
    async [Symbol.asyncDispose]() {
      await server.close()
      await storage.close()
    },
  }
}

/** The first part of an answer; '' if the connection was closed without one. */
async function read(socket: Socket): Promise<string> {
  socket.on('error', () => {})
  const [chunk = ''] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  return String(chunk)
}
