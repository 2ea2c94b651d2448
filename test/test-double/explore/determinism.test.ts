import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { readExploreOptions } from '../../../adapters/test-double/explore/explore-options.js'
import { runOnce } from '../../../adapters/test-double/explore/run.js'
import { scheduleText, stepOf } from '../../../adapters/test-double/explore/schedule.js'
import { type Candidate, search } from '../../../adapters/test-double/explore/search.js'
import type { Work } from '../../../adapters/test-double/index.js'

const HEADERS = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }

/** Creates two animals at the same time and looks at them, with retries that wait. */
const busy: Work = async ({ fetch, sleep }) => {
  const send = async (path: string, init: RequestInit) => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const response = await fetch(path, { headers: HEADERS, ...init }).catch(() => undefined)
      const body = await response?.json().catch(() => undefined)
      if (response?.ok && body) return
      await sleep(1_000 * 2 ** attempt)
    }
  }
  const create = (name: string) =>
    send('pets', { method: 'POST', body: JSON.stringify({ name, categoryId: 1 }) })
  await Promise.all([create('Ada'), create('Bo')])
  await send('pets/2', {})
}

test('explore - is the same again, in any order, and on every version of Node', async () => {
  const one = await exploreAll()
  const reversed = await exploreAll(level => level.toReversed())
  assert.deepEqual(reversed, one)
  // CI runs this on all of them. Without the states, which hold every header.
  assert.equal(
    sha256([one.found, one.failures, one.runs]),
    '836397a94c5b4ef30e65016855e92f81faf7b5c77bb4bba2883fe040c33e8510',
  )
})

async function exploreAll(order?: (level: readonly Candidate[]) => readonly Candidate[]) {
  const settings = readExploreOptions({
    depth: 2,
    faults: ['reset', 'truncate', 'status:503-after', 'status:429', 'delay:31s'],
    invariant: async ({ pets, report }) =>
      report.findings.length < 2 && (await pets()).length === 2,
  })
  const [runs, states]: [string[], string[]] = [[], []]
  const { failures, ...found } = await search({
    ...settings,
    order,
    run: async schedule => {
      const outcome = await runOnce(busy, schedule, settings)
      const requests = outcome.requests.map(({ point, answer }) => `${point} ${answer?.status}`)
      const text = scheduleText(schedule)
      runs.push([text, ...requests, outcome.failure?.reason].join('\n'))
      states.push(`${text} ${await outcome.double.digest()}`)
      return outcome
    },
  })
  assert.ok(runs.length > 60 && failures.length > 10, `${runs.length} ${failures.length}`)
  return {
    found,
    failures: failures.map(({ schedule }) => scheduleText(schedule)),
    runs: runs.toSorted(),
    states: states.toSorted(),
  }
}

function sha256(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

test('explore - a 503 after a request that stores nothing is the same as one before', async () => {
  for (const [path, init] of [
    ['pets?limit=1', {}],
    ['pets', { method: 'HEAD' }],
    ['pets/1', {}],
    ['elsewhere', {}],
    ['pets', { method: 'DELETE' }],
    ['pets', { method: 'POST', body: '{}' }],
    ['pets', { method: 'POST', body: ADA, headers: { 'content-type': 'text/plain' } }],
  ] as const) {
    assert.deepEqual(await faulted(path, init, 'after'), await faulted(path, init, 'before'), path)
  }
  const create = { method: 'POST', body: ADA }
  assert.notDeepEqual(
    await faulted('pets', create, 'after'),
    await faulted('pets', create, 'before'),
  )
})

/** The response, and the state after it. */
async function faulted(path: string, init: RequestInit, when: 'before' | 'after') {
  const settings = readExploreOptions({
    double: { pagination: true, deprecatedAt: 0, snapshot: { pets: [REX, BO], nextId: 3 } },
  })
  let got: unknown
  const work: Work = async ({ fetch }) => {
    const response = await fetch(path, { ...init, headers: { ...HEADERS, ...init.headers } })
    got = [response.status, [...response.headers], await response.text()]
  }
  const [request] = (await runOnce(work, [], settings)).requests
  const step = stepOf(request?.point ?? '', { kind: 'status', status: 503, when })
  const { double, isReached } = await runOnce(work, [step], settings)
  assert.equal(isReached, true)
  return [got, await double.digest()]
}

const ADA = '{"name":"Ada","categoryId":1}'
const REX = { id: 1, name: 'Rex', categoryId: 1 }
const BO = { id: 2, name: 'Bo', categoryId: 1 }
