/**
 * CPU time per request over SQLite, PostgreSQL and Redis, of the servers and of the engines: ours with
 * each of them, and Fastify with pg and @fastify/rate-limit doing the same by hand. The servers share
 * one core, the engines and the load generator the others. Engines are fresh in every run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres, startRedis } from '../../dist/test/engines/engines.js'
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, startServer, stayOnOtherCores, stop } from './harness/children.mjs'
import { GENERATOR, load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { WORKLOADS } from './harness/workload.mjs'

/** The server, and which engines it is given. */
const SUBJECTS = {
  memory: { server: 'ours-engines', engines: [] },
  sqlite: { server: 'ours-engines', engines: ['sqlite'] },
  redis: { server: 'ours-engines', engines: ['redis'] },
  postgres: { server: 'ours-engines', engines: ['postgres'] },
  both: { server: 'ours-engines', engines: ['postgres', 'redis'] },
  fastify: { server: 'fastify-engines', engines: ['postgres', 'redis'] },
}
const COLUMNS = [
  'animals and counters in',
  'requests/s',
  'server µs',
  'PostgreSQL µs',
  'Redis µs',
  'all µs',
  'fastify / this, by CPU of all',
  'failed',
]

const { rounds, seconds, warmup, connections, processes, only } = readArguments({
  rounds: 5,
  seconds: 2,
  warmup: 1,
  connections: 64,
  processes: [1, 2],
  only: Object.keys(SUBJECTS),
})

stayOnOtherCores()
printSurroundings(['fastify', '@fastify/rate-limit', 'ioredis', 'pg'], GENERATOR)
for (const count of processes) {
  for (const name of ['create', 'list']) {
    const results = await inRounds(rounds, only, subject => measure(subject, name, count))
    const peers = results.get('fastify')?.map(run => run.all)
    const rows = only.map(subject => {
      const column = field => results.get(subject).map(run => run[field])
      return [
        subject === 'fastify' ? 'both, by hand with fastify' : subject,
        ...['rate', 'server', 'postgres', 'redis', 'all'].map(field => figure(column(field))),
        peers ? figure(ratios(peers, column('all'))) : 'n/a',
        column('failed').reduce((sum, failed) => sum + failed, 0),
      ]
    })
    const title = `${name}, ${connections} connections, ${count} process${count > 1 ? 'es' : ''}`
    printTable(title, COLUMNS, rows)
  }
}

async function measure(subject, workloadName, count) {
  const { server, engines } = SUBJECTS[subject]
  const postgres = engines.includes('postgres') ? await startPostgres() : undefined
  const redis = engines.includes('redis') ? await startRedis() : undefined
  const folder = mkdtempSync(join(tmpdir(), 'bench-engines-'))
  const file = engines.includes('sqlite') ? join(folder, 'animals.sqlite') : ''
  const words = ['servers/start.mjs', server, postgres?.url ?? '', redis?.url ?? '', file]
  const servers = []
  for (let n = 0; n < count; n++) servers.push(await startServer(words))
  const times = () => ({
    server: servers.reduce((sum, { child }) => sum + cpuSeconds(child) * 1e6, 0),
    postgres: (postgres?.cpu() ?? 0) * 1e3,
    redis: (redis?.cpu() ?? 0) * 1e3,
  })
  const loadAll = seconds => {
    const given = { workload: WORKLOADS[workloadName], connections: connections / count, seconds }
    return Promise.all(servers.map(({ origin }) => load({ origin, ...given })))
  }
  await loadAll(warmup)
  const before = times()
  const runs = await loadAll(seconds)
  const after = times()
  for (const { child } of servers) await stop(child)
  await postgres?.stop()
  await redis?.stop()
  rmSync(folder, { recursive: true })

  const total = field => runs.reduce((sum, run) => sum + run[field], 0)
  const perRequest = name => (after[name] - before[name]) / total('count')
  const [own, animals, counters] = ['server', 'postgres', 'redis'].map(perRequest)
  return {
    rate: total('rate'),
    failed: total('failed'),
    server: own,
    postgres: postgres ? animals : Number.NaN,
    redis: redis ? counters : Number.NaN,
    all: own + animals + counters,
  }
}
