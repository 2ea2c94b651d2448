/**
 * CPU time per request over SQLite, PostgreSQL and Redis, of the servers and of the engines: ours with
 * each of them, and Fastify with pg and @fastify/rate-limit doing the same by hand. The servers share
 * one core, the engines and the load generator the others. Engines are fresh in every run.
 */
import { readArguments } from './harness/arguments.mjs'
import { stayOnOtherCores } from './harness/children.mjs'
import { loadTogether } from './harness/load.mjs'
import { startOverEngines } from './harness/over-engines.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds } from './harness/rounds.mjs'
import { WORKLOADS } from './harness/workload.mjs'

/** The engines of each; the last is Fastify by hand. */
const SUBJECTS = {
  memory: [],
  sqlite: ['sqlite'],
  redis: ['redis'],
  postgres: ['postgres'],
  both: ['postgres', 'redis'],
  'both, by hand': ['postgres', 'redis'],
}
const COLUMNS = ['server', 'postgres', 'redis', 'all']

const { rounds, seconds, warmup, connections, processes, only } = readArguments({
  rounds: 5,
  seconds: 2,
  warmup: 1,
  connections: 64,
  processes: [1, 2],
  only: Object.keys(SUBJECTS),
})

stayOnOtherCores()
printSurroundings(['fastify', '@fastify/rate-limit', 'ioredis', 'pg'])
for (const count of processes) {
  for (const name of ['create', 'list']) {
    const results = await inRounds(rounds, only, subject => measure(subject, name, count))
    const column = (subject, field) => results.get(subject).map(run => run[field])
    printTable(
      `${name}, ${connections} connections, ${count} process${count > 1 ? 'es' : ''}, CPU µs`,
      ['animals and counters in', ...COLUMNS, 'failed'],
      only.map(subject => [
        subject,
        ...COLUMNS.map(field => figure(column(subject, field))),
        column(subject, 'failed').reduce((sum, failed) => sum + failed, 0),
      ]),
    )
  }
}

async function measure(subject, workloadName, count) {
  const server = subject.endsWith('by hand') ? 'fastify-engines' : 'ours-engines'
  const { servers, cpu, stop } = await startOverEngines(server, SUBJECTS[subject], count)
  const given = { workload: WORKLOADS[workloadName], connections }
  await loadTogether(servers, { ...given, seconds: warmup })
  const before = cpu()
  const run = await loadTogether(servers, { ...given, seconds })
  const after = cpu()
  await stop()
  const times = ['server', 'postgres', 'redis'].map(
    name => (after[name] - before[name]) / run.count,
  )
  const [own, postgres, redis] = times
  return { server: own, postgres, redis, all: own + postgres + redis, failed: run.failed }
}
