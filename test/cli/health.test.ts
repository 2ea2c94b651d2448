import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchRequests, withServerPages } from '../../adapters/cli/health.js'
import { createEvents } from '../../src/events.js'

const PET = { pet: { id: 1, name: 'Rex', categoryId: 1 } }

test('readyz - limits are as the latest requests found them', async () => {
  const { emit, readyz } = open()
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
  emit('ratelimit.degraded', { error: new Error('slow') })
  assert.deepEqual(await readyz(), [200, 'ok', 'degraded'])
  emit('ratelimit.recovered', {})
  assert.deepEqual(await readyz(), [200, 'ok', 'ok'])
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
  const both = ['store: locked', 'store: available again']
  assert.deepEqual(said, [...both, ...both])
})

test('readyz - a check that fails makes the store unavailable until one succeeds', async () => {
  let problem: Error | undefined
  const { readyz, said } = open(async () => {
    if (problem) throw problem
  })
  const states: unknown[] = []
  for (problem of [undefined, new Error('moved'), new Error('moved'), undefined]) {
    states.push((await readyz())[0])
  }
  assert.deepEqual(states, [200, 503, 503, 200])
  assert.deepEqual(said, ['store: moved', 'store: available again'])
})

function open(store?: () => Promise<void>) {
  const { events, emit } = createEvents()
  const said: string[] = []
  const notes = { say: (_: string, message: string) => void said.push(message) }
  const pages = withServerPages({ basePath: '/v1', handle: () => assert.fail() } as never, {
    store,
    seen: watchRequests(events),
    draining: new AbortController().signal,
    control: false,
    notes: notes as never,
  })
  const readyz = async () => {
    const request = { method: 'GET', path: '/readyz', query: '', headers: {} }
    const { status, body } = await pages.handle(request)
    const answer = JSON.parse(String(body))
    return [status, answer.store, answer.limits]
  }
  return { emit, readyz, said }
}
