import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { after, type TestContext, test } from 'node:test'
import pg from 'pg'
import { memoryStorage } from '../../adapters/memory.js'
import { type PostgresStorage, postgresStorage } from '../../adapters/postgres/index.js'
import { redisRateLimits } from '../../adapters/redis/index.js'
import { createStore } from '../../src/index.js'
import { createRandom } from '../crash/random.js'
import { firstMessage } from '../support/first-output.js'
import {
  type Engine,
  PATIENT,
  startPostgres,
  startRedis,
  withoutBoth,
  withoutPostgres,
  withoutRedis,
} from './engines.js'
import { checkLoad, startLoad } from './load.js'
import { openAgain } from './open-again.js'
import { startProxy } from './proxy.js'

/** Whether every proof runs as long as CI wants it. */
const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const REX = { name: 'Rex', categoryId: 1 }
const postgres = withoutPostgres ? undefined : await startPostgres('max_connections=200')
const redis = withoutRedis ? undefined : await startRedis()
const postgresUrl = postgres?.url as string
const redisUrl = redis?.url as string
after(async () => {
  await postgres?.stop()
  await redis?.stop()
})

test('engines - two processes share one quota and one sequence of ids', {
  skip: withoutBoth,
}, async t => {
  const servers = await startServers(t, 'shared', 100)
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, n) => create(servers[n % 2] as Server, `n${n}`)),
  )
  const created = answers.filter(answer => answer?.status === 201)
  assert.equal(created.length, 100)
  assert.equal(answers.filter(answer => answer?.status === 429).length, 200)
  assert.deepEqual(
    created.map(answer => answer?.id).toSorted((a, b) => Number(a) - Number(b)),
    Array.from({ length: 100 }, (_, at) => at + 1),
  )
})

test('engines - what waits for a frozen PostgreSQL is bounded in number and time, and never sent later', {
  skip: withoutPostgres,
}, async () => {
  // Long enough that a busy machine adds all of them before the first is over.
  const [storage, other] = await openTwo('bounded', 10_000)
  assert.ok(storage && other)
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

test('engines - connections are cut at random', { skip: withoutPostgres }, async () => {
  const storages = await openTwo('cut', 30_000)
  const admin = new pg.Client(postgresUrl)
  await admin.connect()
  const random = createRandom(3)
  const load = startLoad(storages, 32)
  const readers = startReaders(storages)
  for (let cuts = 0; cuts < (LONG ? 500 : 60); ) {
    const { rows } = await admin.query(
      `SELECT pid FROM pg_stat_activity
       WHERE application_name = 'animal-adoption-store' ORDER BY pid`,
    )
    const { pid } = rows[random(rows.length)] ?? {}
    if (pid !== undefined) cuts += (await cut(admin, pid)) ? 1 : 0
    await load.acknowledge(1 + random(40))
  }
  await load.stop()
  await readers.stop()
  await admin.end()
  // Each batch is sent again, so nothing was even rejected.
  assert.equal(load.failed.size, 0)
  await finish('cut', storages, load)
})

test('engines - Redis is killed and comes back', { skip: withoutRedis }, async () => {
  const { store, degraded, limits } = await openStore()
  const pets = store.forKey('secret')
  await pets.listPets()
  await (redis as Engine).signal('SIGKILL')
  await until(async () => {
    await pets.listPets()
    return degraded.length > 0
  })
  assert.match(degraded[0] ?? '', /^redis:\/\/127\.0\.0\.1:\d+: |did not answer within/)
  await (redis as Engine).restart()
  await until(async () => {
    await pets.listPets()
    return (await limits.inspect('me').catch(() => undefined)) !== undefined
  })
  // Again where a busy Redis takes too long for one of the two.
  await until(async () => {
    const { remaining } = pets.rateLimit ?? {}
    await pets.listPets()
    return pets.rateLimit?.remaining === Number(remaining) - 1
  })
  await limits.close()
})

test('engines - Redis is frozen: every request is answered meanwhile', {
  skip: withoutRedis,
}, async () => {
  const { store, degraded, limits } = await openStore()
  const pets = store.forKey('secret')
  await pets.listPets()
  await (redis as Engine).signal('SIGSTOP')
  for (let n = 0; n < (LONG ? 10_000 : 500); n++) await pets.listPets()
  assert.match(degraded[0] ?? '', /did not answer within 150 ms/)
  await (redis as Engine).signal('SIGCONT')
  const before = (await limits.inspect('me'))?.dayCount
  await until(async () => {
    await pets.listPets()
    return (await limits.inspect('me'))?.dayCount !== before
  })
  await limits.close()
})

test('engines - a connection to Redis that died unnoticed is replaced', {
  skip: withoutRedis || (!LONG && 'takes five seconds; only in the long form'),
}, async () => {
  await using proxy = await startProxy((redis as Engine).port)
  const { store, degraded, limits } = await openStore(`redis://127.0.0.1:${proxy.port}`)
  const pets = store.forKey('secret')
  await pets.listPets()
  proxy.swallow()
  await pets.listPets()
  assert.equal(degraded.length, 1)
  const direct = await redisRateLimits({ url: redisUrl })
  const before = (await direct.inspect('me'))?.dayCount ?? 0
  await until(async () => {
    await pets.listPets()
    return ((await direct.inspect('me'))?.dayCount ?? 0) > before
  })
  await limits.ping()
  await direct.close()
  await limits.close()
})

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

/** @param name of their schema and of their key's id */
async function startServers(t: TestContext, name: string, perDay: number): Promise<Server[]> {
  const start = async (): Promise<Server> => {
    const words = [postgresUrl, redisUrl, name, String(perDay)]
    const child = fork(new URL('./server.js', import.meta.url), words)
    t.after(() => child.kill('SIGKILL'))
    const url = String(await firstMessage(child))
    return { child, url }
  }
  return Promise.all([start(), start()])
}

/** Undefined when the server died before it answered. */
async function create({ url }: Server, name: string) {
  try {
    const response = await fetch(`${url}/pets`, {
      method: 'POST',
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
      body: JSON.stringify({ ...REX, name }),
    })
    const { id } = (await response.json()) as { id?: number }
    return { status: response.status, id }
  } catch {
    return undefined
  }
}

/** By default, with a limit that ends soon where the database is away. */
async function openTwo(schema: string, timeoutMs = 3_000): Promise<PostgresStorage[]> {
  await (await postgresStorage({ url: postgresUrl, schema, ...PATIENT })).close()
  const open = () => openAgain({ url: postgresUrl, schema, timeoutMs })
  return Promise.all([open(), open()])
}

async function finish(
  schema: string,
  storages: readonly PostgresStorage[],
  load: ReturnType<typeof startLoad>,
) {
  for (const storage of storages) await storage.close()
  const patient = await postgresStorage({ url: postgresUrl, schema, ...PATIENT })
  await checkLoad(load, patient)
  await patient.close()
}

/** Lists and finds in parallel: neither may fail. */
function startReaders(storages: readonly PostgresStorage[]) {
  let stopping = false
  const running = storages.map(async storage => {
    for (let n = 1; !stopping; n++) {
      await Promise.all([storage.list({ limit: 20, status: 'available' }), storage.find(n)])
    }
  })
  return {
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }
}

async function cut(admin: pg.Client, pid: number): Promise<boolean> {
  const { rows } = await admin.query('SELECT pg_terminate_backend($1) AS cut', [pid])
  return rows[0].cut
}

async function openStore(url = redisUrl) {
  const limits = await redisRateLimits({ url, connectTimeoutMs: 60_000 })
  const degraded: string[] = []
  const policy = { perMinute: 1_000_000, perDay: 1_000_000 }
  const store = createStore({
    storage: memoryStorage(),
    rateLimits: limits,
    apiKeys: { secret: { id: 'me', plan: 'enterprise', limits: policy } },
  })
  store.events.on('ratelimit.degraded', ({ error }) => degraded.push((error as Error).message))
  return { store, degraded, limits }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(60_000)
  for (; !(await holds()); await new Promise(setImmediate)) limit.throwIfAborted()
}
