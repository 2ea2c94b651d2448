import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { after, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { postgresStorage } from '../../adapters/postgres/index.js'
import { createRandom } from '../crash/random.js'
import { firstMessage } from '../support/first-output.js'
import { type Engine, PATIENT, startPostgres, withoutPostgres } from './engines.js'
import { checkLoad } from './load.js'

/** Whether every proof runs as long as CI wants it. */
const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const ROUNDS = LONG ? 10 : 1
const postgres = withoutPostgres ? undefined : await startPostgres('max_connections=200')
after(() => postgres?.stop())

test('exactly once - creates that are retried with their key, over two processes and every fault', {
  skip: withoutPostgres,
}, async t => {
  const engine = postgres as Engine
  const servers = [await startServer(t), await startServer(t)]
  const load = startLoad(servers, 16)
  // After a failure nobody would stop it.
  t.after(load.abandon)
  await load.acknowledge(100)

  for (let round = 0; round < ROUNDS; round++) {
    await t.test(`a process is killed and replaced, round ${round}`, async () => {
      servers[0]?.child.kill('SIGKILL')
      servers[0] = await startServer(t)
      await load.acknowledge(100)
    })
    await t.test(`PostgreSQL is killed and comes back, round ${round}`, async () => {
      await engine.signal('SIGKILL')
      await load.fail(1)
      await engine.restart()
      await load.acknowledge(100)
    })
    await t.test(`connections to PostgreSQL are cut, round ${round}`, async () => {
      await cutConnections(load)
      await load.acknowledge(100)
    })
  }
  await t.test('PostgreSQL is frozen', async () => {
    await engine.signal('SIGSTOP')
    if (LONG) await setTimeout(20_000)
    await load.fail(32)
    await engine.signal('SIGCONT')
    await load.acknowledge(100)
  })
  await t.test('a process is frozen, and goes on with what it had begun', async () => {
    servers[1]?.child.kill('SIGSTOP')
    if (LONG) await setTimeout(20_000)
    await load.fail(16)
    servers[1]?.child.kill('SIGCONT')
    await load.acknowledge(100)
  })

  await load.stop()
  const storage = await postgresStorage({ url: engine.url, schema: 'once', ...PATIENT })
  const { acknowledged, attempts, replays, sent } = load
  assert.equal(acknowledged.size, sent(), 'every create was answered in the end')
  // Each of them is stored once, under the id of every answer, and nothing else is.
  await checkLoad({ acknowledged, failed: new Set() }, storage)
  assert.equal((await storage.dump()).idempotencyKeys?.length, sent())
  assert.ok(replays() > 0, 'no create was stored before its retry')
  t.diagnostic(`${sent()} creates, ${attempts()} attempts, ${replays()} replays`)
  await storage.close()
})

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

async function startServer(t: TestContext): Promise<Server> {
  const child = fork(new URL('./once-server.js', import.meta.url), [postgres?.url as string])
  t.after(() => child.kill('SIGKILL'))
  const url = String(await firstMessage(child))
  return { child, url }
}

/** Callers that send each create with a key to any of the servers until it is answered with 201. */
function startLoad(servers: readonly Server[], callers: number) {
  const acknowledged = new Map<string, number>()
  const random = createRandom(5)
  const watchers = new Set<() => void>()
  let [sent, attempts, replays, failures] = [0, 0, 0, 0]
  let stopping = false
  let abandoned = false
  const running = Array.from({ length: callers }, (_, caller) => run(caller))

  return {
    acknowledged,
    sent: () => sent,
    attempts: () => attempts,
    replays: () => replays,
    abandon: () => {
      abandoned = true
      stopping = true
    },
    acknowledge: (count: number) => growth(() => acknowledged.size, count),
    fail: (count: number) => growth(() => failures, count),
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }

  async function run(caller: number): Promise<void> {
    for (let n = 0; !stopping; n++) {
      const name = `${caller}-${n}`
      sent++
      await createOnce(name)
      // Now and then again, as a client that lost the answer would.
      if (random(4) === 0) await createOnce(name)
      for (const check of watchers) check()
    }
  }

  async function createOnce(name: string): Promise<void> {
    while (!abandoned) {
      attempts++
      const answer = await create(servers[random(servers.length)] as Server, name)
      if (answer !== undefined) {
        const { id, replayed } = answer
        assert.equal(acknowledged.get(name) ?? id, id, `${name} was answered with two ids`)
        acknowledged.set(name, id)
        if (replayed) replays++
        return
      }
      failures++
      for (const check of watchers) check()
      // Servers that are gone refuse at once.
      await setTimeout(20)
    }
  }

  function growth(size: () => number, count: number): Promise<void> {
    const end = size() + count
    return new Promise(resolve => {
      const check = () => {
        if (size() < end) return
        watchers.delete(check)
        resolve()
      }
      watchers.add(check)
    })
  }
}

/** Undefined when nothing or 503 came: the create may be stored or not. */
async function create({ url }: Server, name: string) {
  try {
    const response = await fetch(`${url}/pets`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer secret',
        'content-type': 'application/json',
        'idempotency-key': `"${name}"`,
      },
      body: JSON.stringify({ name, categoryId: 1 }),
      signal: AbortSignal.timeout(3_000),
    })
    const { id } = (await response.json()) as { id: number }
    if (response.status === 503) return undefined
    assert.equal(response.status, 201)
    return { id, replayed: response.headers.has('idempotent-replayed') }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return undefined
  }
}

async function cutConnections(load: ReturnType<typeof startLoad>): Promise<void> {
  const admin = new pg.Client(postgres?.url as string)
  await admin.connect()
  const random = createRandom(3)
  for (let cuts = 0; cuts < 20; ) {
    const { rows } = await admin.query(
      `SELECT pid FROM pg_stat_activity
       WHERE application_name = 'animal-adoption-store' ORDER BY pid`,
    )
    const { pid } = rows[random(rows.length)] ?? {}
    if (pid === undefined) continue
    const cut = await admin.query('SELECT pg_terminate_backend($1) AS cut', [pid])
    if (cut.rows[0].cut) cuts++
    await load.acknowledge(1 + random(10))
  }
  await admin.end()
}
