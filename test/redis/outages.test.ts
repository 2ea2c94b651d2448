import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { type RedisRateLimitStore, redisRateLimitStore } from '../../adapters/redis/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { type ApiKey, createStore } from '../../src/index.js'
import {
  type Engine,
  withoutRedis as skip,
  startRedis,
  startRedisCluster,
} from '../engines/engines.js'
import { startProxy } from '../engines/proxy.js'
import { testUnless } from '../support/test-unless.js'
import { resolves, until } from '../support/waiting.js'

const PER_MINUTE = 1_000_000
/** Beside much load, Redis takes longer than the default of 150 ms. */
const TIMEOUT_MS = 1_500
const test = testUnless(skip)
const engine = skip ? undefined : await startRedis()
after(() => engine?.stop())

test('redis outages - a primary that has become a replica is left for the new one at the same address', async t => {
  await using old = await startRedis()
  await using next = await startRedis()
  await using proxy = await startProxy(old.port)
  const { store, errors, limits } = await open(t, `redis://127.0.0.1:${proxy.port}`, ['moved'])
  const pets = store.forKey('moved')
  await pets.listPets()
  await untilAnswered(limits)
  await command(old, 'REPLICAOF', '127.0.0.1', String(next.port))
  await assert.rejects(limits.ping(), /it is a replica; use the address of the primary/)
  await pets.listPets()
  assert.match(errors[0] ?? '', /it is a replica|not connected/)

  proxy.lead(next.port)
  await until(async () => {
    await pets.listPets()
    return (await command(next, 'EXISTS', 'adoption:limit:moved')) === 1
  })
  await untilAnswered(limits)
})

test('redis outages - a full server and a lost permission fail the ping as they fail requests, and end by themselves', async t => {
  await using server = await startRedis()
  const { store, errors, limits, counted } = await open(t, server.url, ['full'])
  const pets = store.forKey('full')
  await pets.listPets()
  const cases: [begin: string[], end: string[], message: RegExp][] = [
    [
      ['CONFIG', 'SET', 'maxmemory', '1'],
      ['CONFIG', 'SET', 'maxmemory', '0'],
      /its memory is full/,
    ],
    [
      ['ACL', 'SETUSER', 'default', '-evalsha'],
      ['ACL', 'SETUSER', 'default', '+evalsha'],
      /this user may not run the script/,
    ],
  ]
  for (const [begin, end, message] of cases) {
    const before = await counted('full')
    await command(server, ...begin)
    await assert.rejects(limits.ping(), message)
    await pets.listPets()
    assert.match(errors.at(-1) ?? '', message)
    await command(server, ...end)
    await untilAnswered(limits)
    await pets.listPets()
    assert.equal(await counted('full'), Number(before) + 1)
  }
})

test('redis outages - a frozen server fails the ping within a second', async t => {
  await using server = await startRedis()
  const { limits } = await open(t, server.url, [])
  await server.signal('SIGSTOP')
  await assert.rejects(limits.ping(), /no answer in time/)
  await server.signal('SIGCONT')
  await untilAnswered(limits)
})

test('redis outages - a frozen node of a cluster affects the quotas of its own keys only', async t => {
  const nodes = await startRedisCluster()
  t.after(() => Promise.all(nodes.map(node => node.stop())))
  const [entry, frozen] = nodes as [Engine, Engine]
  const ids = Array.from({ length: 30 }, (_, n) => `key ${n}`)
  const client = new Cluster([{ host: '127.0.0.1', port: entry.port }])
  t.after(() => client.disconnect())
  const { store, errors, limits } = await open(t, client, ids, 20)
  const admitted = async (id: string, count: number) => {
    const pets = store.forKey(idToKey(id))
    const asked = Array.from({ length: count }, () => pets.listPets())
    const outcomes = await Promise.allSettled(asked)
    return outcomes.filter(({ status }) => status === 'fulfilled').length
  }
  for (const id of ids) assert.equal(await admitted(id, 10), 10)
  const stored = await Promise.all(nodes.map(node => command(node, 'KEYS', '*')))
  assert.ok((stored as string[][]).every(keys => keys.length > 0))
  const isFrozen = (id: string) => (stored[1] as string[]).includes(`adoption:limit:${id}`)

  await frozen.signal('SIGSTOP')
  const waiting = ids.filter(isFrozen).map(id => admitted(id, 30))
  for (const id of ids.filter(id => !isFrozen(id))) assert.equal(await admitted(id, 30), 10, id)
  assert.ok((await Promise.all(waiting)).every(count => count === 20))
  assert.ok(errors.length > 0)
  await assert.rejects(limits.ping(), /no answer in time/)

  await frozen.signal('SIGCONT')
  await untilAnswered(limits)
  const [id = ''] = ids.filter(isFrozen)
  const before = (await limits.inspect(id))?.rejections
  await until(async () => {
    await admitted(id, 1)
    return (await limits.inspect(id))?.rejections !== before
  })
})

/** A store whose keys have these ids, counted in Redis. */
async function open(
  t: TestContext,
  server: string | Cluster,
  ids: readonly string[],
  perDay = PER_MINUTE,
) {
  const access = typeof server === 'string' ? { url: server } : { client: server }
  const limits = redisRateLimitStore({ ...access, connectTimeout: 60_000 })
  await limits.ready()
  t.after(() => limits.close())
  const policy = { perMinute: PER_MINUTE, perDay, banAfterRejections: PER_MINUTE }
  const record = (id: string): ApiKey => ({ id, plan: 'enterprise', limits: policy })
  const apiKeys = Object.fromEntries(ids.map(id => [idToKey(id), record(id)]))
  const store = createStore({
    storage: memoryStorage(),
    rateLimitStore: limits,
    rateLimitStoreTimeout: TIMEOUT_MS,
    apiKeys,
  })
  const errors: string[] = []
  store.events.on('ratelimit.degraded', ({ error }) => errors.push((error as Error).message))
  const counted = async (id: string) => (await limits.inspect(id))?.dayCount
  return { store, errors, limits, counted }
}

function idToKey(id: string): string {
  return id.replace(' ', '-')
}

async function command({ url }: Engine, ...words: string[]): Promise<unknown> {
  const client = new Redis(url)
  const [name = '', ...rest] = words
  const reply = await client.call(name, ...rest)
  client.disconnect()
  return reply
}

/** Beside much load, one answer takes longer than the second that a ping waits. */
function untilAnswered(limits: RedisRateLimitStore): Promise<void> {
  return until(() => resolves(limits.ping()))
}
