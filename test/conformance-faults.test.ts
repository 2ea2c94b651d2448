import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHECKS, verify } from '../adapters/conformance/index.js'
import {
  MAIN_KEY,
  openFaulty,
  PLANTED_FAULTS,
  type PlantedFault,
  SPARE_KEY,
} from './support/planted-faults.js'

test('conformance - a server without a fault breaks nothing', async () => {
  assert.deepEqual(await brokenBy({}), [])
  assert.deepEqual(await brokenBy({ animals: 40 }), [])
})

for (const fault of PLANTED_FAULTS) {
  test(`conformance - ${fault.caughtBy} catches a server that ${fault.name}`, async () => {
    const expected = [fault.caughtBy, ...(fault.also ?? [])]
    assert.deepEqual(await brokenBy(fault), expected.toSorted())
  })
}

test('conformance - every check has a fault that it catches', () => {
  const caught = PLANTED_FAULTS.map(({ caughtBy }) => caughtBy)
  const overBytes = CHECKS.filter(({ id }) => id.startsWith('http.'))
  const unproved = CHECKS.filter(check => !caught.includes(check.id) && !overBytes.includes(check))
  assert.deepEqual(
    unproved.map(({ id }) => id),
    [],
  )
})

async function brokenBy(fault: Partial<PlantedFault>): Promise<readonly string[]> {
  const server = await openFaulty(fault)
  const { results } = await verify({
    ...server,
    apiKey: MAIN_KEY,
    spareKey: SPARE_KEY,
    limits: true,
  })
  return results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id }) => id)
    .toSorted()
}
