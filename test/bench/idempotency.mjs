/**
 * CPU time of a create with an `Idempotency-Key`, as a multiple of one without: through `handle` and
 * over HTTP, over memory. Slices alternate, and the smallest of each counts, as noise only adds.
 */
import { listen } from '../../dist/adapters/http/index.js'
import { memoryStorage } from '../../dist/adapters/memory.js'
import { createStore } from '../../dist/src/index.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure } from './harness/rounds.mjs'

const { rounds, slices, creates } = readArguments({ rounds: 3, slices: 10, creates: 20_000 })
const BODY = '{"name":"Rex","categoryId":7,"status":"sold"}'
const HEADERS = { authorization: 'Bearer key', 'content-type': 'application/json' }

printSurroundings([])
const rows = []
for (const [name, open] of Object.entries({ handle: openHandle, 'over HTTP': openHttp })) {
  const runs = []
  for (let round = 0; round < rounds; round++) runs.push(await measure(open))
  const column = field => figure(runs.map(run => run[field]))
  rows.push([
    name,
    column('without'),
    column('with'),
    figure(runs.map(run => run.with / run.without)),
  ])
}
printTable('create, µs of CPU', ['', 'without a key', 'with a key', 'times'], rows)

async function measure(open) {
  const subject = await open()
  const best = { without: Infinity, with: Infinity }
  for (let slice = 0; slice < 2 * slices; slice++) {
    const field = slice % 2 === 0 ? 'without' : 'with'
    const before = process.cpuUsage()
    for (let n = 0; n < creates; n++) {
      await subject.create(field === 'with' ? { 'idempotency-key': `"${slice}-${n}"` } : {})
    }
    const { user, system } = process.cpuUsage(before)
    best[field] = Math.min(best[field], (user + system) / creates)
  }
  await subject.close()
  return best
}

function openStore() {
  const limits = { perMinute: 1e9, perDay: 1e9 }
  const apiKeys = { key: { id: 'bench', plan: 'enterprise', limits } }
  return createStore({ storage: memoryStorage(), apiKeys, idempotency: { ttlMs: 60_000 } })
}

async function openHandle() {
  const store = openStore()
  const create = headers =>
    store.handle({
      method: 'POST',
      path: '/v1/pets',
      query: '',
      headers: { ...HEADERS, ...headers },
      body: BODY,
    })
  return { create, close: async () => {} }
}

/** Client and server in one process: the cost of the client stands on both sides. */
async function openHttp() {
  const server = await listen(openStore(), { port: 0 })
  const url = `${server.url}/pets`
  async function create(headers) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...HEADERS, ...headers },
      body: BODY,
    })
    await response.arrayBuffer()
  }
  return { create, close: server.close }
}
