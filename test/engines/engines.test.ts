import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { redisRateLimitStore } from '../../adapters/redis/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import { createStore } from '../../src/index.js'
import { until } from '../support/waiting.js'
import { type Engine, startPostgres, startRedis, withoutPostgres, withoutRedis } from './engines.js'
import { startProxy } from './proxy.js'

const REX = { name: 'Rex', categoryId: 1 }
const postgres = withoutPostgres ? undefined : await startPostgres()
const redis = withoutRedis ? undefined : await startRedis()
const postgresUrl = postgres?.url as string
const redisUrl = redis?.url as string
after(async () => {
  await postgres?.stop()
  await redis?.stop()
})

test('engines - what waits for a frozen PostgreSQL is bounded in number and time, and never sent later', {
  skip: withoutPostgres,
}, async () => {
  // Long enough that a busy machine adds all of them before the first is over.
  const open = (timeoutMs: number) => postgresStorage({ url: postgresUrl, timeout: timeoutMs })
  const other = open(60_000)
  const storage = open(10_000)
  await other.ready()
  await storage.insert(REX)
  await (postgres as Engine).signal('SIGSTOP')
  const names = Array.from({ length: 11_000 }, (_, n) => `late ${n}`)
  const inserts = await Promise.allSettled(names.map(name => storage.insert({ ...REX, name })))
  const reasons = new Set(
    inserts.map(insert => insert.status === 'rejected' && (insert.reason as Error).message),
  )
  await (postgres as Engine).signal('SIGCONT')
  assert.deepEqual([...reasons].toSorted(), [
    'PostgreSQL did not answer within 10000 ms',
    'The storage is temporarily overloaded; nothing was done. Try again later.',
  ])
  // The first batch was sent, and may be stored; so may few that came a moment later and had that moment left.
  await storage.insert(REX)
  const { pets } = await other.dump()
  assert.ok(pets.length <= 2_502, `${pets.length} animals`)
  await storage.close()
  await other.close()
})

test('engines - a connection to Redis that died unnoticed is replaced', {
  skip: withoutRedis,
}, async () => {
  await using proxy = await startProxy((redis as Engine).port)
  const { store, degraded, limits } = await openStore(`redis://127.0.0.1:${proxy.port}`)
  const pets = store.forKey('secret')
  await pets.listPets()
  proxy.swallow()
  await pets.listPets()
  assert.equal(degraded.length, 1)
  const direct = redisRateLimitStore({ url: redisUrl })
  const before = (await direct.inspect('me'))?.dayCount ?? 0
  await until(async () => {
    await pets.listPets()
    return ((await direct.inspect('me'))?.dayCount ?? 0) > before
  })
  await limits.ping()
  await direct.close()
  await limits.close()
})

async function openStore(url = redisUrl) {
  const limits = redisRateLimitStore({ url, connectTimeout: 60_000 })
  await limits.ready()
  const degraded: string[] = []
  const policy = { perMinute: 1_000_000, perDay: 1_000_000 }
  const store = createStore({
    storage: memoryStorage(),
    rateLimitStore: limits,
    apiKeys: { secret: { id: 'me', plan: 'enterprise', limits: policy } },
  })
  store.events.on('ratelimit.degraded', ({ error }) => degraded.push((error as Error).message))
  return { store, degraded, limits }
}
