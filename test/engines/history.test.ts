import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { redisRateLimitStore } from '../../adapters/redis/index.js'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import type { Pet } from '../../src/index.js'
import { DAY } from '../../src/limits/windows-and-bans.js'
import { createRandom } from '../crash/random.js'
import { createPetHistory, type PetHistory } from '../simulate/model/pet-history.js'
import { seen, textOf } from '../simulate/model/pets.js'
import { firstMessage } from '../support/first-output.js'
import { type Engine, PATIENT, startPostgres, startRedis, withoutBoth } from './engines.js'

const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const ROUNDS = LONG ? 20 : 3
const PROCESSES = 3
const CALLERS = 12
const PER_DAY = 1_000_000
const postgres = withoutBoth ? undefined : await startPostgres('max_connections=200')
const redis = withoutBoth ? undefined : await startRedis()
after(async () => {
  await postgres?.stop()
  await redis?.stop()
})

test('engines - creates, lists and gets over three processes are linearizable, and with keys exactly once, under random faults', {
  skip: withoutBoth,
}, async t => {
  const engine = postgres as Engine
  const servers = await startServers(t, 'history', PER_DAY)
  const history = createPetHistory()
  const load = startLoad(servers, history)
  t.after(load.abandon)
  const day = Math.floor(Date.now() / DAY)
  const seed = LONG ? Date.now() % 1_000_000 : 1
  t.diagnostic(`faults of seed ${seed}`)
  const random = createRandom(seed)
  const faults = [
    async () => {
      const at = random(PROCESSES)
      servers[at]?.child.kill('SIGKILL')
      servers[at] = await startServer(t, 'history', PER_DAY)
    },
    async () => {
      await engine.signal('SIGSTOP')
      await setTimeout(random(500))
      await engine.signal('SIGCONT')
    },
    async () => {
      await engine.signal('SIGKILL')
      await engine.restart()
    },
    async () => {
      const { child } = servers[random(PROCESSES)] as Server
      child.kill('SIGSTOP')
      await setTimeout(random(2_000))
      child.kill('SIGCONT')
    },
    () => cutConnections(engine, random),
  ]
  for (let round = 0; round < ROUNDS; round++) {
    for (const fault of faults.toSorted(() => random(3) - 1)) {
      await load.answers(100)
      await fault()
    }
  }
  await load.answers(100)
  await load.stop()
  const { admitted, rejected, lost, reads, creates } = load.counts
  for (const { child } of servers) await kill(child)

  const storage = postgresStorage({ url: engine.url, schema: 'history', ...PATIENT })
  const { pets, nextId } = await storage.dump()
  await storage.close()
  history.crash()
  history.reopen(pets.map(seen), nextId)
  // Every answer was counted once, and of the lost ones each perhaps. At midnight, counts begin anew.
  const limits = redisRateLimitStore({ url: redis?.url as string })
  const counted = (await limits.inspect('history'))?.dayCount ?? 0
  await limits.close()
  const isOneDay = Math.floor(Date.now() / DAY) === day
  assert.ok(
    (counted >= admitted || !isOneDay) && counted <= admitted + lost,
    `${counted} counted, ${admitted} admitted and ${lost} lost`,
  )
  assert.equal(rejected, 0)
  t.diagnostic(`${creates} creates, ${reads} reads, ${lost} lost, ${pets.length} animals`)
})

test('engines - three processes admit exactly the limit of the day, however they are killed', {
  skip: withoutBoth,
}, async t => {
  const limit = 1_500
  const day = Math.floor(Date.now() / DAY)
  const servers = await startServers(t, 'quota', limit)
  const load = startLoad(servers, createPetHistory())
  t.after(load.abandon)
  await load.answers(300)
  servers[0]?.child.kill('SIGKILL')
  await load.answers(300)
  servers[1]?.child.kill('SIGKILL')
  servers[1] = await startServer(t, 'quota', limit)
  await load.rejections(100)
  await load.stop()
  const { admitted, lost } = load.counts
  // At midnight, counts begin anew.
  const days = Math.floor(Date.now() / DAY) - day + 1
  assert.ok(
    admitted <= days * limit && admitted + lost >= limit,
    `${admitted} admitted and ${lost} lost of ${limit} a day`,
  )
})

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

async function startServers(t: TestContext, name: string, perDay: number): Promise<Server[]> {
  const servers: Server[] = []
  while (servers.length < PROCESSES) servers.push(await startServer(t, name, perDay))
  return servers
}

async function startServer(t: TestContext, name: string, perDay: number): Promise<Server> {
  const given = [postgres?.url as string, redis?.url as string, name, String(perDay)]
  const child = fork(new URL('./server.js', import.meta.url), given)
  t.after(() => child.kill('SIGKILL'))
  const url = String(await firstMessage(child))
  return { child, url }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Callers that create, list and get over any of the servers, and note everything in the history. */
function startLoad(servers: readonly Server[], history: PetHistory) {
  const random = createRandom(7)
  const counts = { admitted: 0, rejected: 0, lost: 0, creates: 0, reads: 0 }
  const watchers = new Set<() => void>()
  let failure: unknown
  let stopping = false
  const running = Array.from({ length: CALLERS }, (_, caller) => run(caller))

  return {
    counts,
    abandon() {
      stopping = true
    },
    answers: (count: number) => growth(() => counts.admitted, count),
    rejections: (count: number) => growth(() => counts.rejected, count),
    async stop() {
      stopping = true
      await Promise.all(running)
      if (failure) throw failure
    },
  }

  async function run(caller: number): Promise<void> {
    for (let n = 0; !stopping; n++) {
      await operate(`${caller}-${n}`).catch(error => {
        failure ??= error
        stopping = true
      })
      for (const check of watchers) check()
    }
  }

  async function operate(name: string): Promise<void> {
    const kind = random(4)
    if (kind < 2) await create(name, random(2) === 0)
    else if (kind === 2) await list(Math.max(0, history.floor - random(30)))
    else await get(Math.max(1, history.floor - 3 + random(6)))
  }

  /** Without a key it is sent once; with one, until it is answered. */
  async function create(name: string, hasKey: boolean): Promise<void> {
    const pet = { name, categoryId: 1, status: 'sold' } as const
    do {
      const operation = history.create(name, textOf(pet), hasKey ? 1 : undefined)
      const answer = await send('/pets', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(hasKey && { 'idempotency-key': `"${name}"` }),
        },
        body: JSON.stringify(pet),
      })
      if (answer?.status === 201) {
        operation.stored(seen(answer.body as Pet), answer.replayed)
        counts.creates++
        return
      }
      if (answer?.status === 429) {
        operation.refused()
        return
      }
      // PostgreSQL may have stored what is answered with 503.
      operation.lost()
    } while (hasKey && !stopping)
  }

  async function list(afterId: number): Promise<void> {
    const operation = history.read()
    const answer = await send(`/pets?limit=50&after=${afterId}`)
    if (answer?.status !== 200) return
    operation.listed({ limit: 50, after: afterId }, (answer.body as Pet[]).map(seen))
    counts.reads++
  }

  async function get(id: number): Promise<void> {
    const operation = history.read()
    const answer = await send(`/pets/${id}`)
    if (answer?.status !== 200 && answer?.status !== 404) return
    operation.got(id, answer.status === 200 ? seen(answer.body as Pet) : undefined)
    counts.reads++
  }

  async function send(target: string, init: RequestInit = {}) {
    const { url } = servers[random(servers.length)] as Server
    const headers = { ...init.headers, authorization: 'Bearer secret' }
    try {
      const signal = AbortSignal.timeout(20_000)
      const response = await fetch(url + target, { ...init, headers, signal })
      const { status } = response
      const body: unknown = await response.json()
      counts[status === 429 ? 'rejected' : 'admitted']++
      return { status, body, replayed: response.headers.has('idempotent-replayed') }
    } catch {
      counts.lost++
      // Servers that are gone refuse at once.
      await setTimeout(10)
      return undefined
    }
  }

  function growth(size: () => number, count: number): Promise<void> {
    const end = size() + count
    return new Promise((resolve, reject) => {
      const check = () => {
        if (failure) reject(failure)
        else if (size() < end) return
        else resolve()
        watchers.delete(check)
      }
      watchers.add(check)
    })
  }
}

async function cutConnections({ url }: Engine, random: (bound: number) => number): Promise<void> {
  const admin = new pg.Client(url)
  await admin.connect()
  const { rows } = await admin.query(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'animal-adoption-store'`,
  )
  for (const { pid } of rows) {
    if (random(2) === 0) await admin.query('SELECT pg_terminate_backend($1)', [pid])
  }
  await admin.end()
}
