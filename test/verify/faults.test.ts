import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { CHECKS, type CheckResult, verify } from '../../adapters/verify/index.js'
import { resultText } from '../../adapters/verify/report.js'
import { createStore } from '../../src/index.js'
import { blocksOf } from '../support/pages.js'
import { assertPrinted } from '../support/printed.js'
import { BYTE_FAULTS, openProxy } from './byte-faults.js'
import { PLANTED_FAULTS } from './faults/index.js'
import { MAIN_KEY, openFaulty, type PlantedFault, SPARE_KEY } from './faulty-server.js'

/** Some faults make the small budgets of these servers even smaller. */
const DAY = 86_400_000

test('verify - a server without a fault breaks nothing', async () => {
  assert.deepEqual(await brokenBy({}), [])
  assert.deepEqual(await brokenBy({ animals: 40 }), [])
})

for (const fault of PLANTED_FAULTS) {
  test(`verify - ${fault.caughtBy} catches a server that ${fault.name}`, async () => {
    const expected = [fault.caughtBy, ...(fault.also ?? [])]
    assert.deepEqual(await brokenBy(fault), expected.toSorted())
  })
}

test('verify - a ban that is no 429 should say when it ends, and a 429 must', async () => {
  for (const [name, level] of [
    ['bans without Retry-After', 'MUST'],
    ['bans with 403, and does not say until when', 'SHOULD'],
  ] as const) {
    const fault = PLANTED_FAULTS.find(planted => planted.name === name) ?? {}
    assert.deepEqual(
      (await resultsOf(fault))
        .filter(({ outcome }) => outcome === 'failed')
        .map(({ level }) => level),
      [level],
    )
  }
})

for (const fault of [{ name: 'changes no bytes' }, ...BYTE_FAULTS]) {
  const caughtBy = 'caughtBy' in fault ? [fault.caughtBy] : []
  test(`verify - ${caughtBy[0] ?? 'nothing'} catches a server that ${fault.name}`, async () => {
    const store = createStore({
      storage: memoryStorage(),
      apiKeys: { [MAIN_KEY]: { id: 'main', plan: 'business' } },
    })
    await using server = await listen(store, { port: 0 })
    const proxy = await openProxy(fault, server.port)
    const baseUrl = `http://127.0.0.1:${proxy.port}/v1`
    const { results } = await verify({ baseUrl, apiKey: MAIN_KEY })
    await proxy.close()
    assert.deepEqual(failed(results), caughtBy)
  })
}

test('verify - every check has a fault that it catches', () => {
  const caught = [...PLANTED_FAULTS, ...BYTE_FAULTS].map(({ caughtBy }) => caughtBy)
  const ids = CHECKS.map(({ id }) => id)
  assert.deepEqual([...new Set(caught)].toSorted(), ids.toSorted())
})

test('verify - the page shows a broken MUST as it is printed', async () => {
  const id = 'create.int64.beyond-double'
  const server = await openFaulty(PLANTED_FAULTS.find(({ caughtBy }) => caughtBy === id) ?? {})
  const { results } = await verify({ ...server, apiKey: MAIN_KEY, only: [id] })
  const [shown = ''] = blocksOf('adapters/verify/README.md', 'text')
  assertPrinted(results.map(resultText).join('').trim(), shown)
})

async function brokenBy(fault: Partial<PlantedFault>): Promise<readonly string[]> {
  return failed(await resultsOf(fault))
}

async function resultsOf(fault: Partial<PlantedFault>): Promise<readonly CheckResult[]> {
  const server = await openFaulty(fault)
  const options = {
    ...server,
    apiKey: MAIN_KEY,
    spareKey: SPARE_KEY,
    limits: true,
    idempotency: true,
    maxWaitMs: DAY,
  }
  return (await verify(options)).results
}

function failed(results: readonly CheckResult[]): readonly string[] {
  return results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id }) => id)
    .toSorted()
}
