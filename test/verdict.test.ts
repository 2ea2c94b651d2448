import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { Agent, fetch as undiciFetch } from 'undici'
import { createClient } from '../adapters/client/index.js'
import {
  createTestDouble,
  type Fault,
  RULES,
  reportText,
  type TestDouble,
} from '../adapters/test-double/index.js'

const FREE = { authorization: 'Bearer demo-free' }
const POST = { method: 'POST', headers: { ...FREE, 'content-type': 'application/json' } }
const T0 = Date.UTC(2030, 0, 1)

type Client = (double: TestDouble) => Promise<unknown>

/** Each breaks one rule, and no other. */
const BAD_CLIENTS: Record<string, Client> = {
  async 'retry-after.early'(double) {
    await useUp(double)
    for (let tries = 0; tries < 4; tries++) {
      await list(double)
      double.clock.advance('5s')
    }
  },
  async 'backoff.constant'(double) {
    double.faults.arm({ kind: 'status', status: 503, times: 5 })
    while ((await list(double)).status === 503) double.clock.advance('1s')
  },
  async 'remaining.ignored'(double) {
    for (let at = 1; at <= 64; at++) await create(double, `{"name":"Ada","categoryId":${at}}`)
  },
  async 'reset.as-delta'(double) {
    await useUp(double)
    const answer = await list(double)
    double.clock.advance(`${answer.headers.get('x-ratelimit-reset')}s`)
    await list(double)
  },
  async 'ban.risked'(double) {
    await useUp(double)
    while (((await (await list(double)).json()) as { code?: string }).code !== 'api_key_banned');
  },
  async 'deprecated.called'(double) {
    await double.seed([{ name: 'Ada', categoryId: 1 }])
    await double.fetch('pets/1', { headers: FREE })
  },
  async 'key.refused'(double) {
    await double.fetch('pets')
    await double.fetch('pets', { headers: { authorization: 'Bearer demo-fre' } })
  },
  async 'name.unknown'(double) {
    await double.fetch('pets?page=2', { headers: FREE })
    await create(double, '{"name":"Ada","categoryId":1,"state":"sold"}')
  },
  async 'refusal.repeated'(double) {
    for (let tries = 0; tries < 5; tries++) await create(double, '{"name":"Ada"}')
  },
}

/** Each does what a client may do. */
const GOOD_CLIENTS: Record<string, Client> = {
  async 'waits as long as Retry-After says'(double) {
    for (let at = 0; at < 200; at++) {
      const answer = await list(double)
      if (answer.status === 200) continue
      double.clock.advance(`${answer.headers.get('retry-after')}s`)
      assert.equal((await list(double)).status, 200)
    }
  },
  async 'waits until Reset at Remaining 0, to the second'(double) {
    for (let at = 0; at < 200; at++) {
      const { headers } = await list(double)
      if (headers.get('x-ratelimit-remaining') !== '0') continue
      double.clock.set(Number(headers.get('x-ratelimit-reset')) * 1000)
    }
  },
  async 'waits until Reset, although Retry-After ends a part of a second later'(double) {
    double.clock.advance(500)
    await useUp(double)
    const { headers } = await list(double)
    double.clock.set(Number(headers.get('x-ratelimit-reset')) * 1000)
    for (let count = 0; count < 3; count++) assert.equal((await list(double)).status, 200)
  },
  async 'was never told, because the answers got lost'(double) {
    await useUp(double)
    double.faults.arm({ kind: 'reset', times: 4 })
    for (let tries = 0; tries < 4; tries++) await list(double).catch(() => {})
  },
  async 'is told once too often with all it had under way'(double) {
    await useUp(double)
    await Promise.all(Array.from({ length: 10 }, () => list(double)))
    double.clock.advance('1m')
    await list(double)
  },
  async 'retries three times with pauses that grow'(double) {
    double.faults.arm({ kind: 'status', status: 503, times: 3 })
    for (const pause of [1_000, 2_000, 4_000]) {
      await list(double)
      double.clock.advance(pause)
    }
    await list(double)
  },
  async 'retries for long with pauses up to a limit'(double) {
    double.faults.arm({ kind: 'status', status: 500, times: 12 })
    for (let tries = 0; tries < 12; tries++) {
      await list(double)
      double.clock.advance(Math.min(1_000 * 2 ** tries, 60_000))
    }
  },
  async 'retries three times with pauses that chance made equal'(double) {
    double.faults.arm({ kind: 'status', status: 503, times: 3 })
    for (let tries = 0; tries < 4; tries++) {
      await list(double)
      double.clock.advance('1s')
    }
  },
  async 'retries with pauses in real time, while the clock stands still'(double) {
    double.faults.arm({ kind: 'status', status: 503, times: 6 })
    for (let tries = 0; tries < 7; tries++) await list(double)
  },
  async 'polls at a fixed pace, through a failure'(double) {
    for (let count = 0; count < 12; count++) {
      if (count === 3) double.faults.arm({ kind: 'status', status: 503, times: 6 })
      await list(double)
      double.clock.advance('10s')
    }
  },
  async 'shares its key with another, and both wait once they are told'(double) {
    await useUp(double)
    for (let minute = 0; minute < 3; minute++) {
      const [one, other] = [await list(double), await list(double)]
      assert.deepEqual([one.status, other.status], [429, 429])
      double.clock.advance('1m')
      await useUp(double)
    }
  },
  async 'meets a ban that it did not cause'(double) {
    await BAD_CLIENTS['ban.risked']?.(double)
    double.clearRequests()
    const banned = await list(double)
    double.clock.advance(`${banned.headers.get('retry-after')}s`)
    assert.equal((await list(double)).status, 200)
  },
  async 'tries a request whose answer got lost again, some times'(double) {
    for (const kind of ['reset', 'truncate', 'malformed'] as const) {
      double.faults.arm({ kind })
      await list(double)
        .then(answer => answer.text())
        .catch(() => {})
    }
    assert.equal((await list(double)).status, 200)
  },
  async 'makes the mistakes that a test of errors makes'(double) {
    await create(double, '{"name":"Ada"}')
    await create(double, 'nonsense')
    await double.fetch('pets?limit=0', { headers: FREE })
    await double.fetch('nowhere', { headers: FREE })
  },
}

test('verdict - every rule has a client that breaks it', () => {
  assert.deepEqual(Object.keys(BAD_CLIENTS).sort(), RULES.map(({ id }) => id).sort())
})

for (const [rule, client] of Object.entries(BAD_CLIENTS)) {
  test(`verdict ${rule} - a client that breaks it gives exactly this finding`, async () => {
    const double = createTestDouble()
    await client(double)
    const { ok, findings } = double.report()
    assert.deepEqual([ok, findings.map(({ rule }) => rule)], [false, [rule]])
    const [{ seen = '', mend = '', iso = '', requests = [] } = {}] = findings
    assert.ok(seen.length > 10 && mend.length > 10 && requests.length > 0)
    assert.match(iso, /^2030-01-01T00:0\d:\d\d\.000Z$/)
  })
}

for (const [behaviour, client] of Object.entries(GOOD_CLIENTS)) {
  test(`verdict - nothing against a client that ${behaviour}`, async () => {
    const double = createTestDouble()
    await client(double)
    assert.deepEqual(double.report().findings, [])
  })
}

for (const [circumstances, { clients = 1, faults = [] }] of Object.entries<Circumstances>({
  'on its own': {},
  'with a second one of its kind that shares its key': { clients: 2 },
  'through 503 without a word about time': { faults: [{ kind: 'status', status: 503, times: 12 }] },
  'through 429 of every kind': {
    faults: [5, 0, null, { date: 20 }, { date: -20 }].map(retryAfter => {
      return { kind: 'status', status: 429, retryAfter, times: 3 }
    }),
  },
  'through lost answers': {
    faults: (['reset', 'truncate', 'malformed'] as const).map(kind => ({ kind, times: 4 })),
  },
})) {
  test(`verdict - nothing against the client of this package, ${circumstances}`, async () => {
    for (let seed = 1; seed <= 3; seed++) {
      const double = createTestDouble()
      const random = seed === 1 ? () => 0 : chance(seed)
      // Nothing is left, and the clients do not know it yet.
      await useUp(double)
      for (const fault of faults) double.faults.arm(fault)
      const calls = Array.from({ length: clients }, async () => {
        const client = politeClient(double, random)
        const answers = Array.from({ length: 70 }, (_, at) =>
          at % 5 === 0
            ? client.createPet({ name: 'Ada', categoryId: at })
            : client.listPets({ limit: (at % 3) + 1 }),
        )
        await Promise.allSettled(answers)
      })
      await Promise.all(calls)
      assert.ok(double.requests({ status: 429 }).length > 0)
      assert.deepEqual(double.report().findings, [], `seed ${seed}`)
    }
  })
}

test('verdict - two readings of Reset as a length: seconds, and ms', async () => {
  for (const unit of ['s', 'ms']) {
    const double = createTestDouble({ sunset: null })
    await useUp(double)
    double.clock.advance(`${T0 / 1000 + 60}${unit}`)
    await list(double)
    assert.deepEqual(rules(double), ['reset.as-delta'])
  }
})

test('verdict - over sockets: a client with one connection, and one with a new one each time', async () => {
  for (const headers of [{}, { connection: 'close' }]) {
    await using double = createTestDouble()
    const { url } = await double.listen()
    const send = async () =>
      (await fetch(`${url}/pets`, { headers: { ...FREE, ...headers } })).text()
    for (let count = 0; count < 66; count++) await send()
    assert.deepEqual(rules(double), ['retry-after.early'], JSON.stringify(headers))
  }
})

test('verdict - over sockets: ten requests at once that are all refused are nobody’s fault', async () => {
  for (const headers of [{}, { connection: 'close' }]) {
    await using double = createTestDouble()
    const { url } = await double.listen()
    await useUp(double)
    const send = async () =>
      (await fetch(`${url}/pets`, { headers: { ...FREE, ...headers } })).text()
    await Promise.all(Array.from({ length: 10 }, send))
    assert.equal(double.requests({ status: 429 }).length, 10)
    assert.deepEqual(rules(double), [], JSON.stringify(headers))
  }
})

test('verdict - over sockets: what waited for one of six connections is nobody’s fault either', async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  const dispatcher = new Agent({ connections: 6 })
  await useUp(double)
  const send = async () => (await undiciFetch(`${url}/pets`, { headers: FREE, dispatcher })).text()
  await Promise.all(Array.from({ length: 18 }, send))
  await dispatcher.close()
  assert.equal(double.requests({ status: 429 }).length, 18)
  assert.deepEqual(rules(double), [])
})

test('verdict - curl in a loop is seen as one client', async t => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  const curl = async () => {
    const words = ['-s', '-o', '/dev/null', '-H', 'Authorization: Bearer demo-free', `${url}/pets`]
    await once(spawn('curl', words), 'exit')
  }
  await useUp(double)
  try {
    await curl()
  } catch {
    t.skip('there is no curl')
    return
  }
  for (let tries = 0; tries < 3; tries++) await curl()
  assert.deepEqual(rules(double), ['retry-after.early'])
})

test('verdict - the report is text for people, and the same for the same journal elsewhere', async () => {
  const double = createTestDouble()
  assert.equal(reportText(double.report()), 'Verdict: nothing wrong in 0 requests.\n')
  await BAD_CLIENTS['retry-after.early']?.(double)
  assert.equal(
    reportText(double.report()),
    `Verdict: 1 finding in 64 requests.
  retry-after.early (key demo-free, first at 2030-01-01T00:00:05.000Z)
    seen: 3 retries came before 2030-01-01T00:01:00.000Z, the time told at 2030-01-01T00:00:00.000Z
    mend: Wait at least as long as Retry-After says, then send the request again.
`,
  )
  const other = createTestDouble()
  await other.restore(await double.snapshot())
  assert.deepEqual(other.report(), double.report())
})

interface Circumstances {
  readonly clients?: number
  readonly faults?: readonly Fault[]
}

/** On the time of the double: its pauses move the clock as far as they end. */
function politeClient(double: TestDouble, random: () => number) {
  return createClient({
    baseUrl: double.baseUrl,
    apiKey: 'demo-free',
    fetch: double.fetch,
    clock: double.clock.now,
    random,
    async sleep(ms) {
      const end = double.clock.now() + ms
      await new Promise(resolve => setImmediate(resolve))
      if (double.clock.now() < end) double.clock.set(Math.ceil(end))
    },
  })
}

/** The same numbers for the same seed (Park and Miller). */
function chance(seed: number): () => number {
  let state = seed * 7_919
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

async function useUp(double: TestDouble): Promise<void> {
  for (let count = 0; count < 60; count++) await list(double)
}

function list(double: TestDouble): Promise<Response> {
  return double.fetch('pets', { headers: FREE })
}

function create(double: TestDouble, body: string): Promise<Response> {
  return double.fetch('pets', { ...POST, body })
}

function rules(double: TestDouble): readonly string[] {
  return double.report().findings.map(({ rule }) => rule)
}
