import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import {
  CHECKS,
  type CheckResult,
  type VerifyOptions,
  verify,
} from '../../adapters/verify/index.js'
import { resultText } from '../../adapters/verify/report-text.js'
import { createStore } from '../../src/index.js'
import { blocksOf } from '../support/pages.js'
import { assertPrinted } from '../support/printed.js'
import { BYTE_FAULTS, openProxy } from './byte-faults.js'
import { COMMON_MISTAKES, PLANTED_FAULTS } from './faults.js'
import {
  anywhere,
  headers,
  MAIN_KEY,
  openFaulty,
  type PlantedFault,
  SPARE_KEY,
} from './faulty-server.js'

/** Some faults make the small budgets of these servers even smaller. */
const DAY = 86_400_000

test('verify - a server without a fault breaks nothing', async () => {
  assert.deepEqual(await brokenBy({}), [])
  assert.deepEqual(await brokenBy({ animals: 40 }), [])
})

for (const { id, also, ...fault } of PLANTED_FAULTS) {
  test(`verify - ${id} sees its planted fault, and nothing unrelated is accused`, async () => {
    const broken = await brokenBy(fault)
    assert.ok(broken.includes(id), broken.join())
    assert.deepEqual(
      broken.filter(other => other !== id && !also?.test(other)),
      [],
    )
  })
}

for (const [mistake, fault] of Object.entries(COMMON_MISTAKES)) {
  test(`verify - some check sees that ${mistake}`, async () => {
    const given = typeof fault === 'function' ? { wrong: fault } : fault
    const skip = ['create.name-long', 'robust.large-body', 'robust.long-number', 'robust.nesting']
    assert.notDeepEqual(failed(await resultsOf(given, { skip })), [])
  })
}

for (const [id, fault] of [['', {}] as const, ...Object.entries(BYTE_FAULTS)]) {
  test(`verify - ${id || 'nothing'} sees what a proxy does to bytes`, async () => {
    const store = createStore({
      storage: memoryStorage(),
      apiKeys: { [MAIN_KEY]: { id: 'main', plan: 'business' } },
    })
    await using server = await listen(store, { port: 0 })
    const proxy = await openProxy(fault, server.port)
    const baseUrl = `http://127.0.0.1:${proxy.port}/v1`
    const { results } = await verify({ baseUrl, apiKey: MAIN_KEY })
    await proxy.close()
    assert.deepEqual(failed(results), id === '' ? [] : [id])
  })
}

test('verify - every check has a fault that it sees', () => {
  const seen = new Set([...PLANTED_FAULTS.map(({ id }) => id), ...Object.keys(BYTE_FAULTS)])
  assert.deepEqual([...seen].toSorted(), CHECKS.map(({ id }) => id).toSorted())
})

test('verify - without any rate limit headers, one SHOULD is not met', async () => {
  const fault: PlantedFault = {
    wrong: serve => async request => {
      const { status, headers, body } = await serve(request)
      const others = Object.entries(headers).filter(([name]) => !name.startsWith('X-RateLimit'))
      return { status, headers: Object.fromEntries(others), body }
    },
  }
  const results = await resultsOf(fault, { exhaust: false })
  assert.deepEqual(failed(results), ['ratelimit.headers'])
})

test('verify - what the specification leaves open accuses nobody', async () => {
  const wrong = headers(anywhere, () => ({ 'X-RateLimit-Remaining': '5' }))
  const { ok } = await verify({ ...(await openFaulty({ wrong })), apiKey: MAIN_KEY })
  assert.equal(ok, true)
})

test('verify - the page shows a broken MUST as it is printed', async () => {
  const id = 'create.int64'
  const server = await openFaulty(PLANTED_FAULTS.find(fault => fault.id === id) ?? {})
  const { results } = await verify({ ...server, apiKey: MAIN_KEY, only: [id] })
  const [shown = ''] = blocksOf('adapters/verify/README.md', 'text')
  assertPrinted(results.map(resultText).join('').trim(), shown)
})

async function brokenBy(fault: Partial<PlantedFault>): Promise<readonly string[]> {
  return failed(await resultsOf(fault))
}

async function resultsOf(
  fault: Partial<PlantedFault>,
  options: Partial<VerifyOptions> = {},
): Promise<readonly CheckResult[]> {
  const server = await openFaulty(fault)
  const keys = { apiKey: MAIN_KEY, spareApiKey: SPARE_KEY }
  const all = { exhaust: true, idempotency: true, maxWait: DAY }
  return (await verify({ ...server, ...keys, ...all, ...options })).results
}

function failed(results: readonly CheckResult[]): readonly string[] {
  return results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id }) => id)
    .toSorted()
}
