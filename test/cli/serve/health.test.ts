import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchHealth, withServerPages } from '../../../adapters/cli/serve/health.js'
import { createNotes } from '../../../adapters/cli/serve/request-log.js'
import { createEvents } from '../../../src/events.js'

const COUNTING = 'this process counts by itself until the server answers'
const PET = { pet: { id: 1, name: 'Rex', categoryId: 1 } }

test('readyz - limits are as the latest requests found them', async () => {
  const { emit, readyz } = open()
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
  emit('ratelimit.degraded', { error: new Error('slow') })
  assert.deepEqual(await readyz(), [200, 'ok', 'degraded'])
  emit('ratelimit.recovered', {})
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
})

test('readyz - without requests, a probe tells whether the limits are back, or away', async t => {
  let now = 10_000
  t.mock.method(performance, 'now', () => now)
  let problem: Error | undefined
  const { emit, readyz, said } = open(undefined, async () => {
    if (problem) throw problem
  })
  const state = async () => (await readyz())[2]
  // Slow for requests, not for the probe: the requests count.
  emit('ratelimit.degraded', { error: new Error('slow') })
  assert.equal(await state(), 'degraded')
  now += 5_000
  assert.equal(await state(), 'ok')
  problem = new Error('gone')
  assert.equal(await state(), 'degraded')
  problem = undefined
  assert.equal(await state(), 'ok')
  assert.deepEqual(
    said().map(([event]) => event),
    ['ratelimit.degraded', 'ratelimit.recovered', 'ratelimit.recovered'],
  )
})

test('readyz - an outage of the limits is measured from its first failure, and recorded at its end', async t => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { emit, health, said } = open()
  const failed = { error: new Error('slow') }
  emit('ratelimit.degraded', failed)
  // A request now and then.
  for (now = 3_000; now < 30_000; now += 3_000) emit('ratelimit.degraded', failed)
  assert.deepEqual([await health.isDegraded(), health.degradedMs()], [true, 30_000])
  emit('ratelimit.recovered', {})
  now = 60_000
  assert.deepEqual([await health.isDegraded(), health.degradedMs()], [false, 30_000])
  assert.deepEqual(said(), [
    ['ratelimit.degraded', `limits: slow; ${COUNTING}`],
    ['ratelimit.recovered', 'limits: the server decides again', 30_000],
  ])
  now = 70_000
  emit('ratelimit.degraded', failed)
  now = 71_000
  assert.equal(health.degradedMs(), 31_000)
})

test('readyz - creates that fail three times in a row make the store unavailable, for a while or until one succeeds', async t => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { emit, readyz, said } = open()
  const failed = { operation: 'createPet', error: new Error('locked') } as const
  for (let n = 0; n < 2; n++) emit('storage.failed', failed)
  emit('storage.failed', { ...failed, operation: 'listPets' })
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
  emit('storage.failed', failed)
  assert.deepEqual(await readyz(), [503, 'unavailable', 'ok'])
  assert.deepEqual(await readyz(), [503, 'unavailable', 'ok'])
  emit('pet.created', PET)
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
  for (let n = 0; n < 3; n++) emit('storage.failed', failed)
  assert.deepEqual(await readyz(), [503, 'unavailable', 'ok'])
  now = 5_000
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
  assert.deepEqual(said(), [
    ['storage.failed', 'store: createPet failed: locked'],
    ['storage.unavailable', 'store: locked'],
    ['storage.recovered', 'store: available again', 0],
    ['storage.unavailable', 'store: locked'],
    ['storage.recovered', 'store: available again', 5_000],
  ])
})

test('readyz - a check that fails counts at once, and one that is too slow from the second on', async () => {
  const slow = Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })
  let problem: Error | undefined
  const { readyz, said } = open(async () => {
    if (problem) throw problem
  })
  const states = async (...problems: (Error | undefined)[]) => {
    const found: unknown[] = []
    for (problem of problems) found.push((await readyz())[0])
    return found
  }
  assert.deepEqual(await states(new Error('moved'), undefined), [503, 200])
  assert.deepEqual(await states(slow, undefined, slow, undefined), [200, 200, 200, 200])
  assert.deepEqual(await states(slow, slow, undefined, slow, undefined, undefined), [
    ...[200, 503, 503, 503, 503, 200],
  ])
  assert.deepEqual(
    said().map(([, message]) => message),
    ['store: moved', 'store: available again', 'store: no answer', 'store: available again'],
  )
})

function open(ping?: () => Promise<void>, pingLimits?: () => Promise<void>) {
  const { events, emit } = createEvents()
  const written: string[] = []
  const write = (line: string) => void written.push(line)
  const notes = createNotes({ asJson: true, clock: () => 0, write })
  const health = watchHealth({ events, ping, pingLimits }, notes)
  const pages = withServerPages({ basePath: '/v1', handle: () => assert.fail() } as never, {
    health,
    draining: new AbortController().signal,
    control: false,
  })
  const readyz = async () => {
    const request = { method: 'GET', path: '/readyz', query: '', headers: {} }
    const { status, body } = await pages.handle(request)
    const answer = JSON.parse(String(body))
    return [status, answer.store, answer.rateLimitStore]
  }
  /** Event, message and duration of each record. */
  const said = () =>
    written.map(line => {
      const { event, message, durationMs: ms } = JSON.parse(line)
      return ms === undefined ? [event, message] : [event, message, ms]
    })
  return { emit, readyz, said, health }
}
