import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../adapters/client/index.js'
import { createDouble } from '../../adapters/test-double/double.js'
import {
  createTestDouble,
  type Exchange,
  type Fault,
  RULES,
  type RuleId,
  type TestDouble,
  VerdictError,
} from '../../adapters/test-double/index.js'
import { createVerdict } from '../../adapters/verdict/verdict.js'
import { assertGrowth } from '../support/memory.js'
import {
  ADA,
  another,
  type Client,
  createApi,
  randomFrom,
  times,
} from '../test-double/clients/api.js'
import { BAD_CLIENTS } from '../test-double/clients/rule-breaking.js'
import { arrived, CREATE, FREE, list } from '../test-double/requests.js'
import { STYLES } from './judge/styles.js'

test('verdict - every rule has a client that breaks it', () => {
  const broken = new Set(BAD_CLIENTS.map(([rule]) => rule))
  // Always notes.
  for (const { id, violatedBy } of RULES)
    if (/always a note|; a note/.test(violatedBy)) broken.add(id)
  assert.deepEqual([...broken].sort(), RULES.map(({ id }) => id).sort())
})

for (const { behaviour, client, finds } of STYLES) {
  test(`verdict - ${finds.join() || 'nothing'} for a client that ${behaviour}`, () =>
    assertFindings(client, finds))
}

for (const [circumstances, { clients = 1, faults = [] }] of Object.entries<Circumstances>({
  'on its own': {},
  'with a second one of its kind that shares its key': { clients: 2 },
  'through 503 without Retry-After': { faults: [{ kind: 'status', status: 503, times: 12 }] },
  'through 429 of every kind': {
    faults: [5, 0, null, { date: 20 }, { date: -20 }].map(retryAfter => {
      return { kind: 'status', status: 429, retryAfter, times: 3 }
    }),
  },
  'through lost responses': {
    faults: (['reset', 'truncate', 'malformed'] as const).map(kind => ({ kind, times: 4 })),
  },
})) {
  test(`verdict - no finding for the client of this package, ${circumstances}`, async () => {
    for (let seed = 1; seed <= 2; seed++) {
      const double = createTestDouble()
      const random = seed === 1 ? () => 0 : randomFrom(seed)
      // Nothing is left, and the clients do not know it yet.
      await createApi(double).exhaust()
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

for (const [rule, seen, client] of [
  [
    'idempotency.ignored',
    /^Idempotency-Key was sent, and this store ignores it$/,
    ({ send }) => send({ body: ADA, headers: { 'idempotency-key': 'a' } }),
  ],
  [
    'create.refused',
    /^the last create got 415: "The Content-Type must be .*"$/,
    ({ double }) => double.fetch('pets', { method: 'POST', headers: FREE, body: '{}' }),
  ],
  [
    'name.halved',
    /^a name has half a character$/,
    ({ send }) => send({ body: { ...ADA, name: '🐕 Rex'.slice(0, 1) } }),
  ],
  [
    'backoff.none',
    /^20 different requests failed in a row, 1000, 1000, 1000, 1000, 1000, … ms apart$/,
    ({ fail, poll, send }) => {
      fail(503, { times: 40 })
      return poll(send, 41, 1, another)
    },
  ],
  [
    'preflight.refused',
    /^a preflight was refused with 401$/,
    ({ double }) => {
      const headers = { origin: 'http://app.test', 'access-control-request-method': 'GET' }
      return double.fetch('pets', { method: 'OPTIONS', headers })
    },
  ],
  [
    'retry-after.early',
    /^1 request came before Retry-After had passed, perhaps from a queue or from clients /,
    async ({ send, exhaust }) => {
      await Promise.all([send(), send()])
      await exhaust()
      for (const _ of times(2)) await send()
    },
  ],
] as const satisfies readonly (readonly [RuleId, RegExp, Client])[]) {
  test(`verdict ${rule} - a note, which stays ok`, async () => {
    const double = createTestDouble()
    await client(createApi(double))
    const { ok, findings, notes } = double.report()
    assert.deepEqual([ok, findings, notes.map(note => note.rule)], [true, [], [rule]])
    assert.match(notes[0]?.seen ?? '', seen)
  })
}

test('verdict key.refused - names the slip as the 401 does', async () => {
  for (const [headers, seen] of [
    [{ 'x-api-key': 'demo-free' }, /not in X-API-Key/],
    [{ authorization: 'Bearer demo-fre' }, /^the API key was invalid$/],
    [{}, /^no API key was read: "Send an API key/],
  ] as const) {
    const double = createTestDouble()
    await double.fetch('pets', { headers })
    assert.match(double.report().findings[0]?.seen ?? '', seen)
  }
})

test('verdict - no note for a client that corrects its create, slows down or has idempotency', async () => {
  const double = createTestDouble({ idempotency: { ttl: 60_000 } })
  const api = createApi(double)
  await api.send({ body: { name: '🐕', categoryId: 'one' } })
  await api.send({ body: { name: '🐕', categoryId: 1 }, headers: { 'idempotency-key': 'a' } })
  api.fail(503, { times: 22 })
  for (const at of times(22)) {
    await api.send({ path: `pets?limit=${at + 1}` })
    api.pass(at)
  }
  assert.deepEqual(double.report().notes, [])
})

test('verdict integer.rounded - a create with an integer that a double prints is a note', async () => {
  const bodies: Record<string, boolean> = {
    [JSON.stringify({ name: 'Ada', categoryId: Number('9007199254740993') })]: true,
    '{"categoryId":-9223372036854775808,"name":"Ada"}': false,
    '{"name":"Ada","categoryId": 9223372036854774784}': false,
    '{"name":"Ada","categoryId": 9223372036854775000}': true,
    '{"name":"Ada","categoryId":9007199254740993}': false,
    '{"name":"Ada","categoryId":9007199254740991}': false,
    '{"name":"\\"categoryId\\":9007199254740992","categoryId":1}': false,
    [JSON.stringify({ name: 'Ada', categoryId: 2 ** 63 })]: true,
  }
  for (const [body, isRounded] of Object.entries(bodies)) {
    const double = createTestDouble()
    await double.fetch('pets', { ...CREATE, body })
    const other = createTestDouble()
    await other.restore(await double.snapshot())
    for (const { ok, notes } of [double.report(), other.report()]) {
      const isNoted = notes.some(({ rule }) => rule === 'integer.rounded')
      assert.deepEqual([ok, isNoted], [true, isRounded], body)
    }
  }
})

test('verdict - a ban hides the graver-to-lesser readings of the same requests, and nothing after it', async () => {
  const double = createTestDouble()
  const api = createApi(double)
  const send = api.connection()
  for (let ban = 0; ban < 2; ban++) {
    await api.exhaust(send)
    while ((await send()).code !== 'api_key_banned');
    for (let count = 0; count < 5; count++) await send()
    api.pass(3600)
  }
  await api.exhaust(send)
  for (let count = 0; count < 3; count++) await send()
  assert.deepEqual(rules(double), ['ban.risked', 'retry-after.early'])
  const [ban] = double.report().findings
  assert.match(ban?.seen ?? '', /^the 31 rejections of one minute banned the key until .*; the 31 /)
})

test('verdict ban.risked - an injected ban is no finding, whether the client waits or not', async () => {
  for (const [pause, expected] of [
    ['5s', []],
    ['4s', ['retry-after.early']],
  ] as const) {
    const double = createTestDouble()
    const banned = { kind: 'status', status: 429, code: 'api_key_banned' } as const
    double.faults.arm({ ...banned, retryAfter: 5, times: 2 })
    const send = createApi(double).connection()
    for (const _ of [1, 2, 3]) {
      await send()
      double.clock.advance(pause)
    }
    assert.deepEqual(rules(double), expected, pause)
  }
})

test('verdict - allowed findings are listed, and the report is ok', async () => {
  const double = createTestDouble({ allow: ['deprecated.called', 'key.refused'] })
  const { send } = createApi(double)
  await send({ path: 'pets/1' })
  await send({ key: null })
  for (const since of ['reset', 'start'] as const) {
    const { ok, findings } = double.report({ since })
    assert.deepEqual(
      [ok, findings.map(({ rule, allowed }) => [rule, allowed])],
      [
        true,
        [
          ['deprecated.called', true],
          ['key.refused', true],
        ],
      ],
    )
  }
  await send({ path: 'pets?page=2' })
  assert.equal(double.report().ok, false)
  double.reset()
  assert.equal(double.report().ok, false, 'without requests')
  await send()
  assert.deepEqual([double.report().ok, double.report({ since: 'start' }).ok], [true, false])
  assert.throws(() => createTestDouble({ allow: ['deprecated'] as never }), {
    name: 'OptionError',
    message: /^Expected `allow\[0\]` to be one of 'ban\.risked', .*, got 'deprecated'$/,
  })
  assert.throws(() => createTestDouble({ allow: 'key.refused' as never }), {
    message: "Expected `allow` to be an array, got 'key.refused'",
  })
})

test('verdict - the option `clients` distinguishes one client from several', async () => {
  const pooled: Client = async ({ double, pool, exhaust }) => {
    const send = pool(4)
    await exhaust(send)
    for (const _ of [1, 2]) await send()
    double.clock.advance('1s')
    await send()
  }
  const scripts: Client = async ({ send, exhaust }) => {
    await exhaust()
    for (const _ of [1, 2, 3]) await send()
  }
  const batches =
    (count: number): Client =>
    async api => {
      await api.exhaust()
      for (const _ of times(count)) {
        await Promise.all([1, 2, 3].map(() => api.connection()()))
        api.pass(1)
      }
    }
  const [twoBatches, threeBatches] = [batches(2), batches(3)]
  for (const [client, clients, expected] of [
    [pooled, undefined, []],
    [pooled, 1, ['retry-after.early']],
    [scripts, undefined, ['retry-after.early']],
    [scripts, 2, ['retry-after.early']],
    [scripts, 3, []],
    [twoBatches, 2, []],
    [twoBatches, 3, []],
    [threeBatches, 2, ['retry-after.early']],
  ] as const) {
    const double = createTestDouble({ clients })
    await client(createApi(double))
    assert.deepEqual(rules(double), expected, `${client} ${clients}`)
  }
  assert.throws(() => createTestDouble({ clients: 0 }), {
    message: 'Expected `clients` to be an integer of at least 1, got 0',
  })
})

test('verdict - assertPolite throws the report, and when nothing was sent', async () => {
  const double = createTestDouble({ allow: ['name.unknown'] })
  const { send, exhaust } = createApi(double)
  const thrown = (options?: object) => {
    try {
      double.assertPolite(options)
      return undefined
    } catch (error) {
      assert.ok(error instanceof VerdictError)
      return error.message
    }
  }
  assert.match(thrown() ?? '', /^Verdict: no requests arrived/)
  await Promise.all([send(), send({ path: 'pets?page=2' })])
  assert.equal(thrown(), undefined)
  await exhaust()
  for (const _ of [1, 2]) await send()
  assert.equal(thrown(), undefined)
  assert.match(thrown({ notes: true }) ?? '', / retry-after\.early \(likely\) /)
  await send({ path: 'pets/1', key: 'demo-pro' })
  const text = thrown() ?? ''
  assert.match(text, /^Verdict: 2 findings and 1 note in \d+ requests\.\n/)
  assert.match(text, /\n {4}request \d+: GET \/v1\/pets\/1 at \S+ -> 404\n/)
  double.reset()
  await send()
  assert.equal(thrown(), undefined)
  assert.match(thrown({ since: 'start' }) ?? '', /deprecated\.called/)
  assert.throws(() => double.assertPolite({ notes: 'yes' as never }), /Expected `notes` to be/)
})

test('verdict - since the start: counted once a rule and key, with the place where it began', async () => {
  const root = createDouble({})
  const world = createDouble({}, undefined, { verdict: root.verdict, world: 'w1' })
  const { send } = createApi(world)
  for (let reset = 0; reset < 5; reset++) {
    await send({ path: 'pets?page=2' })
    if (reset >= 2) await send({ path: 'pets/1' })
    world.reset()
  }
  await createApi(root).send({ path: 'pets?offset=2' })
  const { requestCount: requests, findings } = root.report({ since: 'start' })
  assert.deepEqual(
    [requests, findings.map(({ rule, where, seen, requests }) => [rule, where, seen, requests])],
    [
      9,
      [
        ['name.unknown', 'world w1', '`page` was sent (5 times); `offset` was sent', [1]],
        [
          'deprecated.called',
          'world w1, after reset 2',
          'getPet, which is deprecated, was called (3 times)',
          [2],
        ],
      ],
    ],
  )
  assert.deepEqual(
    world.report({ since: 'start' }).findings.map(({ rule, where }) => [rule, where]),
    [
      ['name.unknown', null],
      ['deprecated.called', 'after reset 2'],
    ],
  )
})

test('verdict - no header of a response breaks the report, the next request, a reset or the end', async () => {
  const status = { kind: 'status', status: 503 } as const
  const exhausted = { 'X-RateLimit-Remaining': '0' }
  const banned = { kind: 'status', status: 429, code: 'api_key_banned', times: 2 } as const
  const faults: readonly Fault[] = [
    { ...status, retryAfter: 1e14 },
    { ...status, headers: { 'Retry-After': '9'.repeat(400) } },
    ...['soon', '-1', '9'.repeat(400)].flatMap((reset): readonly Fault[] => [
      { ...status, retryAfter: 10, headers: { ...exhausted, 'X-RateLimit-Reset': reset } },
      { ...banned, retryAfter: 10, headers: { ...exhausted, 'X-RateLimit-Reset': reset } },
      { ...banned, headers: { 'X-RateLimit-Reset': reset } },
    ]),
  ]
  for (const fault of faults) {
    const double = createTestDouble({ time: '2030-01-01' })
    double.faults.arm(fault)
    double.clock.auto = true
    for (const _ of [1, 2]) await list(double)
    assert.equal(double.report().requestCount, 2, JSON.stringify(fault))
    await double.reset()
    assert.equal(double.report({ since: 'start' }).requestCount, 2)
    await double.close()
  }
})

test('verdict - a request that ends after a reset counts where it began', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 1000 })
  const answer = createApi(double).send({ path: 'pets?page=2' })
  await arrived(double)
  double.reset()
  await answer
  assert.deepEqual(
    [double.report().requestCount, double.report({ since: 'start' }).requestCount],
    [0, 1],
  )
  assert.deepEqual(rules(double, 'start'), ['name.unknown'])
})

test('verdict - what the journal drops is remembered, and what a test clears since the start', async () => {
  const double = createTestDouble({ journal: 5, plans: { free: { perMinute: 1e6, perDay: 1e6 } } })
  const { send } = createApi(double)
  await send({ path: 'pets?page=2' })
  for (let count = 0; count < 10; count++) await send()
  const { requestCount: requests, dropped } = double.report()
  assert.deepEqual([requests, dropped, double.report({ since: 'start' }).requestCount], [11, 6, 11])
  assert.deepEqual([rules(double), rules(double, 'start')], [['name.unknown'], ['name.unknown']])
  double.clearRequests()
  assert.deepEqual([rules(double), double.report().requestCount], [[], 0])
  assert.deepEqual(rules(double, 'start'), ['name.unknown'])
})

test('verdict - clearing the journal hides the requests before it, not what they began', async () => {
  const double = createTestDouble()
  const api = createApi(double)
  const send = api.connection()
  await send({ path: 'pets?page=2' })
  await api.exhaust(send)
  await send()
  double.clearRequests()
  assert.deepEqual(rules(double), [])
  await send()
  const [finding, ...others] = double.report().findings
  const [n] = double.requests().map(({ n }) => n)
  assert.deepEqual([finding?.rule, finding?.requests, others], ['retry-after.early', [n], []])
  assert.deepEqual(rules(double, 'start'), ['name.unknown', 'retry-after.early'])
})

test('verdict - a restored journal is in the report, but not in one since the start', async () => {
  const double = createTestDouble()
  await createApi(double).send({ path: 'pets?page=2' })
  const other = createTestDouble()
  await createApi(other).send({ path: 'pets/1' })
  await other.restore(await double.snapshot())
  assert.deepEqual([rules(other), rules(other, 'start')], [['name.unknown'], ['deprecated.called']])
  await createApi(other).send({ path: 'pets?offset=2' })
  const { findings, requestCount: requests } = other.report({ since: 'start' })
  assert.deepEqual(
    [requests, findings.map(({ rule, where, seen }) => [rule, where, seen])],
    [
      2,
      [
        ['deprecated.called', null, 'getPet, which is deprecated, was called'],
        ['name.unknown', 'after reset 1', '`offset` was sent'],
      ],
    ],
  )
  assert.match(other.report().findings[0]?.seen ?? '', /^`page` was sent; `offset` was sent$/)
})

test('verdict - what is kept of a caller and of a window is bounded', async () => {
  const plans = { free: { perMinute: 1, perDay: 1e6 } }
  const double = createTestDouble({ journal: 1, plans })
  await createApi(double).exhaust()
  await createApi(double).send()
  const rejected = double.requests()[0] as Exchange
  const verdict = createVerdict()
  const feed = (where: string | null) => {
    const ended: Exchange[] = []
    const take = () => ({ arrived: 0, ended: ended.splice(0) })
    const { catchUp, end } = verdict.record(where, { now: double.clock, take })
    return {
      see(exchange: Exchange) {
        ended.push(exchange)
        catchUp()
      },
      end,
    }
  }
  const recording = feed(null)
  let n = 0
  const see = (requests: number, windows: number) => {
    for (let count = 0; count < requests; count++) {
      n++
      recording.see({ ...rejected, n, connection: n, requestDigest: `request ${n}` })
    }
    for (let window = 1; window <= windows; window++) {
      const recording = feed(`after reset ${n} ${window}`)
      for (const n of [1, 2, 3, 4]) recording.see({ ...rejected, n })
      recording.end()
    }
  }
  see(2_500, 500)
  await assertGrowth(600_000, measure => {
    see(8_000, 2_000)
    measure()
  })
  const { findings } = verdict.report()
  assert.deepEqual(
    findings.map(({ rule, requests }) => [rule, requests.length]),
    [
      ['remaining.ignored', 100],
      ['retry-after.early', 4],
    ],
  )
})

/** The same findings by itself, since the start after a reset, and in a world whose journal keeps one exchange. */
async function assertFindings(client: Client, expected: readonly string[]): Promise<void> {
  const double = createTestDouble()
  await client(createApi(double))
  assert.deepEqual(rules(double), expected)
  assert.deepEqual(rules(double, 'start'), expected)
  double.reset()
  await createApi(double).send()
  assert.deepEqual(rules(double), [])
  assert.deepEqual(rules(double, 'start'), expected)

  const root = createDouble({})
  const world = createDouble({ journal: 1 }, undefined, { verdict: root.verdict, world: 'w1' })
  await client(createApi(world))
  assert.deepEqual(rules(world), expected)
  await world.close()
  assert.deepEqual(rules(root), [])
  assert.deepEqual(rules(root, 'start'), expected)
}

function rules(double: TestDouble, since: 'reset' | 'start' = 'reset'): readonly string[] {
  return double.report({ since }).findings.map(({ rule }) => rule)
}

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
    clock: double.clock,
    random,
    async sleep(ms) {
      const end = double.clock() + ms
      await new Promise(resolve => setImmediate(resolve))
      if (double.clock() < end) double.clock.set(Math.ceil(end))
    },
  })
}
