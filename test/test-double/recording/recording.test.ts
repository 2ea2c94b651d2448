import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  createTestDouble,
  type Fault,
  openRecording,
  type TestDouble,
} from '../../../adapters/test-double/index.js'
import { differencesOf } from '../../../adapters/test-double/recording/diff.js'
import { readRecording } from '../../../adapters/test-double/recording/file.js'
import {
  act,
  type Deed,
  inProcess,
  type OpenDoor,
  type Scenario,
  scenario,
  TOKEN,
} from './scenario.js'

const SECRETS = /k3y-that-must-not-leak|added-later-1234/

const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'

test('recording - a clock that runs on between any two reads is recorded at one instant', async t => {
  let ms = Date.UTC(2030, 0, 1)
  t.mock.method(Date, 'now', () => (ms += 700))
  const kinds: Fault[] = [
    { kind: 'status', status: 429, retryAfter: { date: 30 } },
    { kind: 'status', status: 503, retryAfter: { date: 30 }, when: 'after' },
    { kind: 'malformed' },
  ]
  for (const isDelayed of [false, true]) {
    await using double = createTestDouble({ time: 'running', idempotency: { ttl: 60_000 } })
    const recording = await double.record()
    for (const fault of kinds) {
      if (isDelayed) double.faults.arm({ kind: 'delay', duration: 1 })
      double.faults.arm(fault)
      const creating = create(double)
      await new Promise(resolve => setImmediate(resolve))
      double.endDelays()
      await creating
    }
    const { difference } = await (await openRecording(await recording.json())).replay()
    assert.equal(difference && JSON.stringify(difference), undefined)
  }

  function create({ fetch, baseUrl }: TestDouble): Promise<unknown> {
    const headers = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Ada', categoryId: 1 })
    return fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
  }
})

test('recording - through a socket and in process, the steps have equal digests', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, fc.boolean(), async (given, isRecordedOnSocket) => {
      const text = await recorded(given, isRecordedOnSocket ? overSocket : inProcess)
      assert.doesNotMatch(text, SECRETS)
      const { difference } = await (await openRecording(text)).replay()
      assert.equal(difference && JSON.stringify(difference), undefined)
    }),
    { numRuns: LONG ? 150 : 15 },
  )
})

test('recording - begins with a double as it is, and ends in the same state', async () => {
  await using double = createTestDouble({ control: TOKEN })
  await double.seed([{ name: 'Ada', categoryId: 2n ** 62n }])
  const { send } = await inProcess(double)
  for (const deed of STORY) await act(double, [deed], { send })
  const recording = await double.record()
  for (const deed of STORY) await act(double, [deed], { send })
  const text = await recording.json()
  const opened = await openRecording(text)
  const before = await opened.replay({ until: 0 })
  assert.equal((await before.double.pets.listPets()).length, 3)
  const { double: replayed, difference } = await opened.replay()
  assert.deepEqual([difference, await replayed.digest()], [undefined, await double.digest()])
  assert.deepEqual(replayed.requests().map(withoutHost), double.requests().map(withoutHost))
  assert.deepEqual(replayed.report().findings, double.report().findings)
  recording.stop()
  await get(double, 'pets')
  assert.equal(await recording.json(), text)
})

test('recording - replay and diff name the first step that differs, in whatever it differs', async () => {
  await using double = createTestDouble({ control: TOKEN, idempotency: { ttl: 60_000 } })
  const { send } = await inProcess(double)
  for (const deed of STORY) await act(double, [deed], { send })
  const recording = await double.record()
  for (const deed of STORY) await act(double, [deed], { send })
  const text = await recording.json()
  const file = readRecording(text, 'good')
  for (const [from, to] of [
    [/"nextId":\d+/, '"nextId":9'],
    [/"minuteCount":\d+/, '"minuteCount":7'],
    [/"name":"Bo"/, '"name":"Bea"'],
    [/"faults":\[\]/, '"faults":[{"kind":"reset"}]'],
    [/"plan":"pro"/, '"plan":"free"'],
  ] as const) {
    const { difference } = await (await openRecording(text.replace(from, to))).replay()
    assert.ok(difference, String(from))
  }
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const steps = lines.slice(0, -1).map(line => line.replace(/,$/, ''))
  for (const at of steps.keys()) {
    const others = steps
      .toSpliced(at, 1)
      .map((line, n) => line.replace(/"step":\d+/, `"step":${n + 1}`))
    const without = `${[head, others.join(',\n')].join('\n')}\n]}`
    const [found] = differencesOf(file, readRecording(without, 'bad'))
    assert.equal(found?.step, at + 1, steps[at])
    if (at === steps.length - 1) continue
    const { difference } = await (await openRecording(without)).replay()
    assert.equal(difference?.step, at + 1, steps[at])
  }
})

test('recording - replays up to the given step, even in the middle of a request', async () => {
  await using double = createTestDouble()
  const recording = await double.record()
  double.faults.arm({ kind: 'delay', duration: 1_000 })
  const late = get(double, 'pets')
  await double.run(() => late)
  const opened = await openRecording(await recording.json())
  const done = opened.steps.map(step => step.do)
  assert.deepEqual(done, ['arm', 'send', 'run', 'answer'])
  const { double: replayed } = await opened.replay({ until: 2 })
  const [exchange] = replayed.requests()
  assert.deepEqual([exchange?.status, exchange?.answeredAt], [null, null])
  assert.deepEqual(await replayed.inspect.usage('demo-free'), undefined)
  await replayed.record()
  await get(replayed, 'pets')
  assert.equal(replayed.requests()[1]?.status, 200)
})

test('recording - what happens to a request after a reset is left out', async () => {
  await using double = createTestDouble()
  const recording = await double.record()
  double.faults.arm({ kind: 'delay', duration: 1_000 })
  const late = get(double, 'pets')
  await new Promise(resolve => setImmediate(resolve))
  double.reset()
  await late
  const opened = await openRecording(await recording.json())
  const done = opened.steps.map(step => step.do)
  assert.deepEqual(done, ['arm', 'send', 'reset'])
  const { double: replayed, difference } = await opened.replay()
  assert.deepEqual([difference, replayed.requests()], [undefined, []])
  await replayed.record()
})

test('recording - keys are named, wherever they are, and their plans kept', async () => {
  const key = 'k3y-that-must-not-leak'
  const limits = { perMinute: 2, perDay: 9 }
  await using double = createTestDouble({
    apiKeys: { [key]: { id: 'ci', plan: 'enterprise', limits }, k7: { id: 'k7', plan: 'free' } },
  })
  const recording = await double.record()
  double.addKey('added-later-1234', { id: 'late', plan: 'pro' })
  for (const token of [key, 'k7', 'added-later-1234', 'nobody-knows-it', key, key]) {
    const headers = { authorization: `bearer  ${token}`, [`x-${key}`]: token, cookie: token }
    const body = JSON.stringify({ name: `of ${token}`, categoryId: 1 })
    const path = `pets?note=${encodeURIComponent(token)}`
    await double.fetch(path, { method: 'POST', headers, body }).catch(() => {})
  }
  await double.restore(await double.snapshot())
  await get(double, 'pets')
  const text = await recording.json()
  assert.doesNotMatch(text, /k3y-that|added-later|nobody-knows|"k7 |Bearer k7/)
  assert.match(text, /"name":"recorded-key-1","id":"ci","plan":"enterprise"/)
  const { difference } = await (await openRecording(text)).replay()
  assert.equal(difference, undefined)
})

test('recording - a key known by its digest is named when it is used', async () => {
  const { createHash } = await import('node:crypto')
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const key = 'k3y-that-must-not-leak'
  await using double = createTestDouble({
    sha256,
    apiKeys: { [`sha256:${sha256(key)}`]: { id: 'ci', plan: 'pro' } },
  })
  const recording = await double.record()
  await get(double, 'pets', key)
  const text = await recording.json()
  assert.ok(!text.includes(key) && !text.includes(sha256(key)))
  const { double: replayed, difference } = await (await openRecording(text)).replay()
  assert.deepEqual([difference, replayed.requests()[0]?.keyId], [undefined, 'ci'])
})

test('recording - what it cannot begin with is refused', async () => {
  await using double = createTestDouble({ control: TOKEN })
  double.faults.arm({ kind: 'delay', duration: 1_000 })
  const late = get(double, 'pets')
  await new Promise(resolve => setImmediate(resolve))
  await assert.rejects(double.record(), { message: /a request is in flight$/ })
  double.endDelays()
  await late
  await act(double, [{ do: 'world', animals: undefined }], await inProcess(double))
  await assert.rejects(double.record(), { message: /before the first world is created$/ })
})

const STORY: readonly Deed[] = [
  { do: 'seed', animals: [{ name: 'Ada', categoryId: 2n ** 62n }] },
  { do: 'arm', fault: { kind: 'reset' } },
  { do: 'arm', fault: { kind: 'status', status: 503, retryAfter: 2 } },
  { do: 'clear-faults', nth: 0 },
  { do: 'send', to: 'double', call: call('GET', 'pets') },
  { do: 'advance', ms: 61_000 },
  { do: 'send', to: 'double', call: call('POST', 'pets', '{"name":"Bo","categoryId":1}') },
  { do: 'send', to: 'double', call: call('GET', 'pets/2') },
  { do: 'clear-requests' },
  { do: 'send', to: 'double', call: call('GET', 'pets?status=sold') },
  { do: 'send', to: 'double', call: call('POST', 'pets', '{"name":1}') },
]

function call(method: string, path: string, body?: string) {
  return { method, path, key: 'demo-pro', headers: { 'content-type': 'application/json' }, body }
}

function withoutHost({ requestHeaders: _, ...exchange }: { readonly requestHeaders: unknown }) {
  return exchange
}

async function recorded({ options, deeds }: Scenario, open: OpenDoor): Promise<string> {
  await using double = createTestDouble(options)
  const recording = await double.record()
  const { send, close } = await open(double)
  await act(double, deeds, { send })
  await close()
  return recording.json()
}

const overSocket: OpenDoor = async double => {
  const server = await double.listen()
  return {
    async send(path, init) {
      const answer = await fetch(server.origin + path, init)
      return answer.text()
    },
    close: server.close,
  }
}

async function get(
  double: Pick<TestDouble, 'fetch'>,
  path: string,
  key = 'demo-free',
): Promise<void> {
  const answer = await double.fetch(path, { headers: { authorization: `Bearer ${key}` } })
  await answer.text()
}
