import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, createClient } from '../../../adapters/client/index.js'
import {
  createTestDouble,
  type Ended,
  explore,
  type Fault,
  type Tools,
} from '../../../adapters/test-double/index.js'
import type { Pet } from '../../../src/index.js'
import { type Client, createApi } from '../clients/api.js'
import { GOOD_CLIENTS } from '../clients/well-behaved.js'

/** Those that are good only because of the faults they are written for. */
const NEEDS_FAULTS = [
  'never read the rejections, because they got lost',
  'never read that its animal is wrong, because the responses got lost',
]

test('explore - catches no good client', async () => {
  let runs = 0
  for (const [name, client] of Object.entries(GOOD_CLIENTS)) {
    const faults = await armedBy(client)
    if (faults.length === 0 || NEEDS_FAULTS.includes(name)) continue
    const result = await explored(client, faults)
    assert.deepEqual(
      result.failures.map(({ schedule, reason }) => [name, schedule, reason]),
      [],
    )
    runs += result.runs
  }
  assert.ok(runs > 500, String(runs))
})

for (const [idempotency, depth] of [
  [false, 3],
  [true, 3],
] as const) {
  test(`explore - the polite client has no failing schedule at depth ${depth}, idempotency ${idempotency}`, async () => {
    const result = await explore(politely(idempotency), {
      depth,
      double: { idempotency: idempotency ? { ttl: 86_400_000 } : null },
      invariant: idempotency ? existsOnce : existsAsTold,
    })
    assert.deepEqual(
      result.failures.map(({ schedule, reason }) => [schedule, reason]),
      [],
    )
    assert.equal(result.exhausted, true)
    assert.ok(result.runs > 500, String(result.runs))
  })
}

test('explore - the polite client needs a server that knows its idempotency keys', async () => {
  const { failures } = await explore(politely(true), { invariant: existsOnce })
  assert.deepEqual(
    failures.map(({ schedule }) => schedule),
    ['reset', 'truncate', 'status:503-after', 'delay:31s'].map(fault => `createPet#1=${fault}`),
  )
})

/** Creates an animal and lists, whatever fails. */
function politely(idempotency: boolean) {
  return async ({ double: { baseUrl }, fetch, clock, sleep }: Tools) => {
    let draws = 0
    const random = () => (++draws * 0.37) % 1
    const apiKey = 'demo-pro'
    const options = { baseUrl, apiKey, fetch, clock, sleep, random, idempotency }
    await using pets = createClient(options)
    const [created] = await Promise.allSettled([pets.createPet({ name: 'Ada', categoryId: 1 })])
    await Promise.allSettled([pets.listPets()])
    return created
  }
}

type Created = PromiseSettledResult<Pet>

/** The animal is there exactly once, and the call has said so. */
async function existsOnce({ pets, report, error, value }: Ended) {
  assert.equal(error, undefined)
  const { status } = value as Created
  assert.deepEqual([status, (await pets()).length, report.ok], ['fulfilled', 1, true])
}

/** It is there if the call has succeeded, and at most once if it says that it does not know. */
async function existsAsTold({ pets, report, error, value }: Ended) {
  assert.equal(error, undefined)
  const created = value as Created
  const stored = (await pets()).length
  assert.ok(report.ok)
  if (created.status === 'fulfilled') return assert.equal(stored, 1)
  const { mayHaveTakenEffect } = created.reason
  // A 5xx does not say whether it came before or after.
  if (mayHaveTakenEffect || created.reason instanceof ApiError) return assert.ok(stored <= 1)
  assert.equal(stored, 0)
}

/** The faults that a client arms for itself, without how often. */
async function armedBy(client: Client): Promise<readonly Fault[]> {
  const double = createTestDouble()
  const { arm } = double.faults
  const faults: Fault[] = []
  const note = (fault: Fault) => {
    const { times: _, ...one } = fault
    faults.push(one as Fault)
    return arm(fault)
  }
  Object.assign(double.faults, { arm: note })
  await client(createApi(double))
  return faults
}

/** Explores a client without the faults that it arms. */
function explored(client: Client, faults: readonly Fault[]) {
  const work = async ({ double }: Tools) => {
    Object.assign(double.faults, { arm() {} })
    await client(createApi(double))
  }
  return explore(work, { faults, depth: 2, schedules: 100 })
}
