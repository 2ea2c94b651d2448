import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { CHECKS, type CheckResult, verify } from '../../adapters/verify/index.js'
import { resultText } from '../../adapters/verify/report.js'
import { createStore } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { blocksOf } from '../support/pages.js'
import { assertPrinted } from '../support/printed.js'
import { BYTE_FAULTS, openProxy } from './byte-faults.js'
import { PLANTED_FAULTS } from './faults.js'
import {
  admits,
  answers,
  anywhere,
  created,
  creations,
  gotten,
  headers,
  isAnonymous,
  MAIN_KEY,
  openFaulty,
  type PlantedFault,
  SPARE_KEY,
  status,
  type Wrong,
} from './faulty-server.js'

/** Some faults make the small budgets of these servers even smaller. */
const DAY = 86_400_000

test('verify - a server without a fault breaks nothing', async () => {
  assert.deepEqual(await brokenBy({}), [])
  assert.deepEqual(await brokenBy({ animals: 40 }), [])
})

for (const [id, fault] of Object.entries(PLANTED_FAULTS)) {
  test(`verify - ${id} sees its planted fault, and nothing unrelated is accused`, async () => {
    const broken = await brokenBy(fault)
    assert.ok(broken.includes(id), broken.join())
    assert.deepEqual(
      broken.filter(other => other !== id && !fault.also?.test(other)),
      [],
    )
  })
}

/** Faults that a check sees besides its planted one. */
const OTHERS: readonly (readonly [id: string, what: string, wrong: Wrong])[] = [
  [
    'ratelimit.every',
    'words on every 404',
    headers(status(404), () => ({ 'X-RateLimit-Remaining': 'unlimited' })),
  ],
  [
    'ratelimit.every',
    'ms on every 404',
    headers(status(404), () => ({
      'X-RateLimit-Reset': `${T0}`,
      Date: new Date(T0).toUTCString(),
    })),
  ],
  ['get.listed', 'a name trimmed', gotten(pet => ({ ...pet, name: `${pet['name']}`.trim() }))],
  ['auth.forwarded', 'X-Client-IP', admits(({ headers }) => headers['x-client-ip'] !== undefined)],
  [
    'auth.path',
    'an escape at the end',
    answers(
      request => isAnonymous(request) && request.path.endsWith('%2F'),
      given => ({ ...given, status: 200, body: '[]' }),
    ),
  ],
  [
    'create.name-exact',
    'interpolation',
    created(pet => ({ ...pet, name: `${pet['name']}`.replace(/\$\{.*?\}/g, '') })),
  ],
  [
    'get.int64',
    '0 in quotes',
    gotten(pet => (pet['categoryId'] === 0 ? { ...pet, categoryId: '0' } : pet)),
  ],
  ['create.name-type', 'false as a name', takes('name', false, 'false')],
  ['create.category-string', '"0" as 0', takes('categoryId', '0', 0)],
  ['create.status-case', 'a status with a space', takes('status', 'sold ', 'sold')],
  ['create.status-type', '0 as the first status', takes('status', 0, 'available')],
]

for (const [id, what, wrong] of OTHERS) {
  test(`verify - ${id} sees ${what}`, async () => {
    const broken = await brokenBy({ wrong })
    assert.ok(broken.includes(id), broken.join())
  })
}

/** Takes one value of a field for another. */
function takes(field: string, value: unknown, as: unknown): Wrong {
  return creations(pet => (pet[field] === value ? { ...pet, [field]: as } : undefined))
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
  const seen = [...Object.keys(PLANTED_FAULTS), ...Object.keys(BYTE_FAULTS)]
  assert.deepEqual(seen.toSorted(), CHECKS.map(({ id }) => id).toSorted())
})

test('verify - without any rate limit headers, one SHOULD is not met', async () => {
  const fault: PlantedFault = {
    wrong: serve => async request => {
      const { status, headers, body } = await serve(request)
      const others = Object.entries(headers).filter(([name]) => !name.startsWith('X-RateLimit'))
      return { status, headers: Object.fromEntries(others), body }
    },
  }
  const results = await resultsOf(fault, { limits: false })
  assert.deepEqual(failed(results), ['ratelimit.present.200'])
})

test('verify - what the specification leaves open accuses nobody', async () => {
  const wrong = headers(anywhere, () => ({ 'X-RateLimit-Remaining': '5' }))
  const { ok } = await verify({ ...(await openFaulty({ wrong })), apiKey: MAIN_KEY })
  assert.equal(ok, true)
})

test('verify - the page shows a broken MUST as it is printed', async () => {
  const id = 'create.int64.beyond-double'
  const server = await openFaulty(PLANTED_FAULTS[id] ?? {})
  const { results } = await verify({ ...server, apiKey: MAIN_KEY, only: [id] })
  const [shown = ''] = blocksOf('adapters/verify/README.md', 'text')
  assertPrinted(results.map(resultText).join('').trim(), shown)
})

async function brokenBy(fault: Partial<PlantedFault>): Promise<readonly string[]> {
  return failed(await resultsOf(fault))
}

async function resultsOf(
  fault: Partial<PlantedFault>,
  { limits = true } = {},
): Promise<readonly CheckResult[]> {
  const server = await openFaulty(fault)
  const keys = { apiKey: MAIN_KEY, spareKey: SPARE_KEY }
  const options = { ...server, ...keys, limits, idempotency: true, maxWaitMs: DAY }
  return (await verify(options)).results
}

function failed(results: readonly CheckResult[]): readonly string[] {
  return results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id }) => id)
    .toSorted()
}
