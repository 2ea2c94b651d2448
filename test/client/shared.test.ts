import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { type Client, type ClientOptions, createClient } from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type Limits } from '../../src/index.js'
import { startRedis, withoutRedis } from '../engines/engines.js'
import { perMinute } from './client-server.js'
import { createVirtualTime, everythingElse } from './virtual-time.js'

const T0 = Date.UTC(2030, 0, 1)
const skip = withoutRedis

test('shared - processes use every unit of each window, without a 429', {
  skip,
}, async t => {
  const { clients, time, seen } = await createProcesses(t, 4, {
    perMinute: 20,
    perDay: 10_000,
  })
  const calls = clients.flatMap(client => Array.from({ length: 20 }, () => client.listPets()))
  await time.run(Promise.all(calls))
  assert.deepEqual(perMinute(seen), [20, 20, 20, 20], `${seen}`)
  assert.equal(rejected(seen), 0)
})

test('shared - others who use the key lower the reservoir', {
  skip,
}, async t => {
  const { clients, time, seen, other } = await createProcesses(t, 3, {
    perMinute: 30,
    perDay: 10_000,
  })
  let isOver = false
  void (async () => {
    for (; !isOver; await time.sleep(6_000, {})) await other.listPets().catch(() => {})
  })()
  const calls = clients.flatMap(client => Array.from({ length: 20 }, () => client.listPets()))
  await time.run(Promise.all(calls))
  isOver = true
  assert.ok(rejected(seen) <= 6, `${seen}`)
})

test('shared - a ban that one process learns of stops the others', {
  skip,
}, async t => {
  const { clients, time, seen, faults } = await createProcesses(t, 3)
  await time.run(Promise.all(clients.map(client => client.listPets())))
  const body = JSON.stringify({ code: 'api_key_banned', message: 'Banned.', status: 429 })
  faults.push(new Response(body, { status: 429, headers: { 'retry-after': '300' } }))
  const before = seen.length
  const [first, ...others] = clients as [Client, ...Client[]]
  await assert.rejects(time.run(first.listPets()), { name: 'ApiKeyBannedError' })
  await time.run(time.sleep(2_000, {}))
  // Units of the window are left: they may be in use before the process has looked.
  const errors = await time.run(Promise.all(others.map(failureOf)))
  assert.equal(seen.length - before, 1)
  assert.deepEqual(errors, Array(2).fill('ApiKeyBannedError Banned.'))
})

test('shared - without Redis each process goes on alone, and comes back', {
  skip,
}, async t => {
  const { clients, time, seen, redis } = await createProcesses(t, 2)
  await time.run(Promise.all(clients.map(client => client.listPets())))
  await redis.stop()
  await time.run(Promise.all(clients.map(client => client.listPets())))
  assert.equal(seen.length, 4)
})

for (const [what, refuse, relent] of [
  ['has no memory left', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
  ['was demoted', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  ['lacks replicas', 'CONFIG SET min-replicas-to-write 1', 'CONFIG SET min-replicas-to-write 0'],
] as const) {
  test(`shared - beside a Redis that ${what}, a process goes on alone, and says so`, {
    skip,
    timeout: 60_000,
  }, async t => {
    const { start, time, seen, admin } = await createProcesses(t, 0)
    const run = (line: string) => admin.call(...(line.split(' ') as [string]))
    const events: string[] = []
    const hooks: Partial<ClientOptions> = {
      onDegraded: ({ error }) => events.push((error as Error).name),
      onRecovered: () => events.push('recovered'),
    }
    // Connecting takes real time, in which any virtual time may pass.
    const recovered = async () => {
      while (!events.includes('recovered') && !t.signal.aborted) {
        await time.run(time.sleep(1_000, {}))
      }
    }
    await run(refuse)
    const client = start(hooks)
    await time.run(client.listPets())
    assert.deepEqual(events, ['ReplyError'], 'while it starts')
    await run(relent)
    await recovered()
    assert.deepEqual(events.splice(0), ['ReplyError', 'recovered'])
    await time.run(client.listPets())

    await run(refuse)
    const begun = time.clock()
    await time.run(client.listPets())
    assert.ok(time.clock() - begun < 5_000)
    assert.deepEqual(events, ['ReplyError'], 'later')
    await run(relent)
    await recovered()
    assert.deepEqual(events, ['ReplyError', 'recovered'])
    await time.run(client.listPets())
    assert.equal(seen.length, 4)
  })
}

test('shared - two forms of one address are one key', { skip }, async t => {
  const { start, time, admin } = await createProcesses(t, 0)
  for (const baseUrl of ['http://store.test/v1', 'HTTP://Store.test:80/v1//']) {
    await time.run(start({ baseUrl }).listPets())
  }
  assert.equal((await admin.keys('b_*_settings')).length, 1)
})

test('shared - what an earlier process left behind locks nobody out', {
  skip,
}, async t => {
  const { clients, time, seen, start } = await createProcesses(t, 1, {
    perMinute: 5,
    perDay: 10_000,
  })
  const [first] = clients as [Client]
  await time.run(Promise.all(Array.from({ length: 5 }, () => first.listPets())))
  await first.close()
  await time.run(time.sleep(61_000, {}))
  const second = start()
  await time.run(Promise.all(Array.from({ length: 5 }, () => second.listPets())))
  assert.deepEqual(perMinute(seen), [5, 5])
})

test('shared - a limiter that Redis has forgotten registers again', {
  skip,
}, async t => {
  const { clients, time, seen, admin } = await createProcesses(t, 2)
  await time.run(Promise.all(clients.map(client => client.listPets())))
  await admin.flushall()
  const calls = clients.map(client => client.listPets())
  await time.run(Promise.race([Promise.all(calls), time.sleep(10_000, {})]))
  assert.equal(seen.length, 4)
})

test('shared - Redis never sees the API key', { skip }, async t => {
  const { clients, time, admin } = await createProcesses(t, 1)
  await time.run(Promise.all(clients.map(client => client.listPets())))
  const keys = await admin.keys('*')
  assert.ok(keys.length > 0)
  for (const key of keys) assert.doesNotMatch(key, /secret/)
})
test('shared - an address or client that cannot be one is refused, and never shown', () => {
  for (const shared of ['http://:secret@redis.test', 'redis://', 'secret', {}]) {
    assert.throws(
      () =>
        createClient({ baseUrl: 'http://store.test/v1', apiKey: 'key', shared } as ClientOptions),
      (error: Error) => /`shared`/.test(error.message) && !error.message.includes('secret'),
    )
  }
})

/** Clients that know of each other only through Redis, as in processes of their own. */
async function createProcesses(t: TestContext, count: number, limits?: Limits) {
  const redis = await startRedis()
  const admin = new Redis(redis.url)
  const connections = new Set<Connection>()
  const time = createVirtualTime(T0, () => quiet(connections))
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: {
      'secret-key': limits
        ? { id: 'key', plan: 'enterprise', limits }
        : { id: 'key', plan: 'free' },
    },
    clock: time.clock,
  })
  const serve = toFetchHandler(store)
  const seen: string[] = []
  const faults: Response[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    await time.sleep(30, {})
    const response = faults.shift() ?? (await time.hold(() => serve(new Request(input, init))))
    seen.push(`${response.status} +${time.clock() - T0}`)
    await time.sleep(30, {})
    return response
  }
  const clients: Client[] = []
  const start = (options: Partial<ClientOptions> = {}) => {
    const client = createClient({
      baseUrl: 'http://store.test/v1',
      apiKey: 'secret-key',
      fetch,
      clock: time.clock,
      sleep: time.sleep,
      random: () => 0.5,
      shared: {
        duplicate: options => watched(admin.duplicate(options)),
      },
      ...options,
    })
    clients.push(client)
    return client
  }
  for (let n = 0; n < count; n++) start()
  const run: typeof time.run = async work => {
    // Connecting is not over when nothing can be seen of it yet.
    while (connections.size < 2 * clients.length) await everythingElse()
    return time.run(work)
  }
  t.after(async () => {
    await Promise.all(clients.map(client => client.close()))
    for (const connection of connections) connection.end()
    admin.disconnect()
    await redis.stop()
  })
  return {
    redis,
    admin,
    clients,
    time: { ...time, run },
    seen,
    faults,
    start,
    other: store.forKey('secret-key'),
  }

  function watched(connection: Redis): Redis {
    const { duplicate } = connection
    connection.duplicate = override => watched(duplicate.call(connection, override))
    connections.add({
      isConnecting: () => connection.status === 'connecting' || connection.status === 'connect',
      isReady: () => connection.status === 'ready',
      waiting() {
        const { commandQueue } = connection as unknown as { commandQueue: { length: number } }
        return commandQueue.length
      },
      ping: () => connection.ping(),
      end: () => connection.disconnect(),
    })
    return connection
  }
}

interface Connection {
  isConnecting(): boolean
  isReady(): boolean
  waiting(): number
  ping(): Promise<unknown>
  end(): unknown
}

/** Resolves when no command and no message is on its way: Redis answers in order. */
async function quiet(connections: ReadonlySet<Connection>): Promise<void> {
  for (let calm = 0; calm < 2; calm++) {
    for (const connection of connections) {
      if (connection.isConnecting()) calm = -1
      if (!connection.isReady()) continue
      if (connection.waiting() > 0) calm = -1
      await connection.ping().catch(() => {})
    }
    await everythingElse()
  }
}

function failureOf(client: Client): Promise<string> {
  return client.listPets().then(
    () => 'sent',
    (error: Error) => `${error.name} ${error.message}`,
  )
}

function rejected(seen: readonly string[]): number {
  return seen.filter(line => line.startsWith('429 ')).length
}
