import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { Session } from 'node:inspector/promises'
import { test } from 'node:test'
import { listen } from '../adapters/http/index.js'
import { memoryStorage } from '../adapters/memory.js'
import { createTestDouble } from '../adapters/test-double/index.js'
import { createStore } from '../src/index.js'
import { CODE_URL, ROOT_URL } from './support/paths.js'

const LIMITS = { perMinute: 1_000, perDay: 1_000 }
const KEYS = { secret: { id: 'me', plan: 'enterprise', limits: LIMITS } } as const

/** One request of each list in CONTRIBUTING.md, and how many files it may run through. */
const REQUESTS: readonly [name: string, most: number, open: () => Promise<Opened>][] = [
  ['POST', 21, openServer],
  ['double.fetch', 23, openDouble],
]

interface Opened {
  /** Sends the request once. */
  readonly send: () => Promise<void>
  readonly close: () => Promise<void>
}

for (const [name, most, open] of REQUESTS) {
  test(`one request - ${name} executes the files that CONTRIBUTING.md lists, at most ${most}`, async () => {
    const { send, close } = await open()
    for (let n = 0; n < 20; n++) await send()
    const executed = await executedBy(send)
    await close()
    const { files, count } = await listed(name)
    assert.deepEqual(executed, files.toSorted())
    assert.equal(count, files.length)
    assert.ok(files.length <= most)
  })
}

async function openServer(): Promise<Opened> {
  const server = await listen(createStore({ storage: memoryStorage(), apiKeys: KEYS }), { port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
  return {
    async send() {
      const request = httpRequest(`${server.url}/pets`, { method: 'POST', agent, headers })
      request.end('{"name":"Rex","categoryId":1,"status":"available"}')
      const [response] = await once(request, 'response')
      assert.equal(response.statusCode, 201)
      await once(response.resume(), 'end')
    },
    async close() {
      agent.destroy()
      await server.close()
    },
  }
}

async function openDouble(): Promise<Opened> {
  const double = createTestDouble({ apiKeys: KEYS })
  const headers = { authorization: 'Bearer secret' }
  return {
    async send() {
      const response = await double.fetch('pets', { headers })
      assert.equal(await response.text(), '[]')
    },
    close: () => double.close(),
  }
}

/** The files of the package with a function that ran, sorted, as paths below the root. */
async function executedBy(act: () => Promise<void>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  // Whatever ran until now.
  await session.post('Profiler.takePreciseCoverage')
  await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return (
    result
      .filter(({ functions }) =>
        functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)),
      )
      .map(({ url }) => url.replace(CODE_URL.href, '').replace(/\.[jt]s$/, '.ts'))
      // The build puts zod into that file, which is not ours.
      .filter(path => /^(src|adapters)\//.test(path) && path !== 'src/lib/zod.ts')
      .toSorted()
  )
}

/** The numbered files below a marker of CONTRIBUTING.md, and the count above them. */
async function listed(name: string): Promise<{ files: string[]; count: number }> {
  const page = await readFile(new URL('CONTRIBUTING.md', ROOT_URL), 'utf8')
  const [, after = ''] = page.split(`<!-- executes ${name} -->`)
  const [section = ''] = after.split(/\n## |<!-- executes /)
  const files = [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file)
  return { files, count: Number(/(\d+) files/.exec(section)?.[1]) }
}
