import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../adapters/client/index.js'
import { createStore } from '../adapters/index.js'
import { jsonFileStorage } from '../adapters/stores/json-file/index.js'
import { snapshotOf, streamOf } from '../adapters/stores/kit/pet-stream.js'
import { memoryStorage } from '../adapters/stores/memory.js'
import { createTestDouble, explore, type Tools } from '../adapters/test-double/index.js'
import { verify } from '../adapters/verify/index.js'
import { reportListenerError } from '../adapters/warnings.js'
import { ApiError, type ListenerFailure } from '../src/index.js'

type Hook = () => unknown

/** Calls that have a hook, each of which calls it at least once and succeeds nevertheless. */
const HOOKED: Readonly<Record<string, (hook: Hook) => Promise<unknown>>> = {
  async 'pet.created'(hook) {
    const store = createStore({ storage: memoryStorage(), apiKeys: {} })
    store.events.on('pet.created', hook)
    for (let n = 0; n < 3; n++) await store.createPet({ name: 'Rex', categoryId: 1 })
  },
  async '*'(hook) {
    const store = createStore({ storage: memoryStorage(), apiKeys: {} })
    store.events.on('*', hook)
    for (let n = 0; n < 3; n++) await store.createPet({ name: 'Rex', categoryId: 1 })
  },
  onRequest: onRequest => callClient({ onRequest }),
  onRetry: onRetry => callClient({ onRetry }),
  onWait: onWait => callClient({ onWait }),
  async onError(onError) {
    const path = join(mkdtempSync(join(tmpdir(), 'adoption-hooks-')), 'pets.json')
    writeFileSync(path, '{"pets":[],"crc32":"00000000"}')
    const storage = jsonFileStorage(path, { onError })
    assert.deepEqual(await storage.list({ limit: 1 }), [])
    await storage.close()
  },
  async onProgress(onProgress) {
    const pets = [{ id: 1, name: 'Rex', categoryId: 1 }]
    const { pets: read } = await snapshotOf(streamOf({ pets, nextId: 2 }), { onProgress })
    assert.deepEqual(read, pets)
  },
  async onResult(onResult) {
    const { baseUrl, fetch } = createTestDouble()
    const options = { baseUrl, fetch, apiKey: 'demo-pro', only: ['error.401'], onResult }
    assert.ok((await verify(options)).ok)
  },
  async onRun(onRun) {
    const work = async ({ fetch }: Tools) => {
      await fetch('pets')
    }
    const { runs } = await explore(work, { faults: ['status:500'], onRun })
    assert.ok(runs > 0)
  },
}

const FAILING: Readonly<Record<string, Hook>> = {
  throws() {
    throw new Error('the metrics backend is down')
  },
  rejects: () => Promise.reject(new Error('the metrics backend is down')),
}

for (const [name, call] of Object.entries(HOOKED)) {
  for (const [what, fail] of Object.entries(FAILING)) {
    test(`listeners - ${name} that ${what} changes no call, and is reported once`, async t => {
      const warnings = warningsOf(t)
      await call(() => fail())
      await new Promise(resolve => setImmediate(resolve))
      assert.equal(warnings.length, 1, warnings.join())
      assert.match(
        String(warnings),
        new RegExp(`^The listener of ${name.replace('*', '.')} failed`),
      )
      assert.match(String(warnings), /the metrics backend is down/)
    })
  }
}

test('listeners - onListenerError receives the error and the name, and may fail too', async t => {
  const warnings = warningsOf(t)
  const received: unknown[] = []
  const onListenerError = ({ error, name }: ListenerFailure) => {
    received.push([(error as Error).message, name])
    throw error
  }
  const store = createStore({ storage: memoryStorage(), apiKeys: {}, onListenerError })
  store.events.on('pet.created', FAILING['throws'] as Hook)
  store.events.on('*', FAILING['rejects'] as Hook)
  await store.createPet({ name: 'Rex', categoryId: 1 })
  await callClient({ onRetry: FAILING['rejects'], onListenerError })
  await new Promise(resolve => setImmediate(resolve))
  const message = 'the metrics backend is down'
  assert.deepEqual(received, [
    [message, 'pet.created'],
    [message, '*'],
    [message, 'onRetry'],
  ])
  assert.deepEqual(warnings, [])
})

test('listeners - without a process, the console has the error', t => {
  const lines: unknown[][] = []
  t.mock.method(console, 'error', (...line: unknown[]) => void lines.push(line))
  const { emitWarning } = process
  Object.assign(process, { emitWarning: undefined })
  try {
    reportListenerError({ error: new Error('the metrics backend is down'), name: 'onWait' })
  } finally {
    Object.assign(process, { emitWarning })
  }
  assert.match(String(lines), /^The listener of onWait failed,Error: the metrics backend is down/)
})

test('listeners - an error has its message in JSON', () => {
  const error = new ApiError('not_found', 'There is no pet with this id.')
  const { message, code } = JSON.parse(JSON.stringify({ error })).error
  assert.deepEqual([message, code], [error.message, 'not_found'])
})

async function callClient(hooks: object): Promise<void> {
  let requests = 0
  const client = createClient({
    baseUrl: 'http://store.test/v1',
    apiKey: 'key',
    fetch: async () => new Response('[]', { status: requests++ ? 200 : 500 }),
    sleep: async ms => {
      // A time limit never ends.
      if (ms === 30_000) await new Promise(() => {})
    },
    ...hooks,
  })
  assert.deepEqual(await client.listPets(), [])
}

function warningsOf(t: TestContext): string[] {
  const warnings: string[] = []
  t.mock.method(process, 'emitWarning', (message: string, { detail }: { detail: string }) => {
    warnings.push(`${message} ${detail}`)
  })
  return warnings
}
