import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../adapters/client/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { CODE_URL, ROOT } from '../support/paths.js'

test('client - a warm call executes the files that CONTRIBUTING.md lists, and no others', async () => {
  let remaining = 300
  const fetch = async () => {
    const headers = {
      'x-ratelimit-limit': '300',
      'x-ratelimit-remaining': `${--remaining}`,
      'x-ratelimit-reset': `${T0 / 1_000 + 60}`,
    }
    return Response.json([{ id: 1, name: 'Rex', categoryId: 2, status: 'sold' }], { headers })
  }
  const pets = createClient({
    baseUrl: 'http://store.test/v1',
    apiKey: 'key',
    fetch,
    clock: () => T0,
  })
  for (let n = 0; n < 3; n++) await pets.listPets()
  const executed = await filesOf(() => pets.listPets())
  assert.deepEqual(executed, listed())
  assert.ok(executed.length <= 13)
})

/** The files of `src/` and `adapters/` with a function that the work executes. */
async function filesOf(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .filter(({ url }) => url.startsWith(CODE_URL.href))
    .map(({ url }) => url.slice(CODE_URL.href.length).replace(/\.[jt]s$/, '.ts'))
    .filter(path => /^(src|adapters)\//.test(path))
    .sort()
}

function listed(): string[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, section = ''] = text.match(/^## One call of the client\n([\s\S]*?)^## /m) ?? []
  const paths = section.matchAll(/`((?:src|adapters)\/[\w./-]+)`/g)
  return [...new Set([...paths].map(([, path = '']) => path))].sort()
}
