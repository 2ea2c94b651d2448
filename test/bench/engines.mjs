/**
 * Ours over PostgreSQL and Redis against the same by hand with Fastify: CPU time of the server processes
 * per request. Both run all the time, each with engines of its own, and take turns of a second. A figure
 * is the minimum of its slices, as neighbours on the machine only ever add to it. The servers share one core; the engines and the load generator have the others. Before that,
 * each process serves `warmup` requests alone: V8 compiles in each of them, and two that share the
 * requests of one would be half as warm. All is started anew a few times, as a process keeps the luck of its
 * start: the ratio is the median of these starts.
 */
import { readArguments } from './harness/arguments.mjs'
import { stayOnOtherCores } from './harness/children.mjs'
import { load, loadTogether } from './harness/load.mjs'
import { startOverEngines } from './harness/over-engines.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { digits, inRounds, median, quiet, ratios } from './harness/rounds.mjs'
import { ENGINE_WORKLOADS } from './harness/workload.mjs'

const SUBJECTS = { ours: 'ours-engines', fastify: 'fastify-engines' }
const TITLES = {
  get: 'get',
  list: 'equal lists of 20',
  lists: 'lists of 1 to 100',
  pages: '900 different pages of 20',
  create: 'create',
  keyed: 'create with a key',
}
/** The most that ours may take of the peer, by the number of processes. */
const GOALS = { 1: 0.7, 2: 0.9 }
const COLUMNS = [
  '',
  'processes',
  'ours µs',
  'by hand µs',
  'ours / by hand',
  'of each start',
  'at most',
  'failed',
]

const { starts, slices, seconds, warmup, connections, processes, only } = readArguments({
  starts: 3,
  slices: 8,
  seconds: 1,
  warmup: 15_000,
  connections: 64,
  processes: [1, 2],
  only: Object.keys(TITLES),
})

stayOnOtherCores()
printSurroundings(['fastify', '@fastify/rate-limit', 'ioredis', 'pg'])
const rows = []
for (const count of processes) {
  const results = new Map(only.map(workload => [workload, []]))
  for (let start = 0; start < starts; start++) {
    const subjects = new Map()
    for (const [name, server] of Object.entries(SUBJECTS)) {
      subjects.set(name, await startOverEngines(server, count))
    }
    for (const workload of only) {
      for (const { servers } of subjects.values()) {
        for (const server of servers) await warmUp(server, workload)
      }
      const found = await inRounds(slices, [...subjects.keys()], name =>
        measure(subjects.get(name), workload, seconds),
      )
      results.get(workload).push(found)
    }
    for (const subject of subjects.values()) await subject.stop()
  }
  for (const workload of only) rows.push(rowOf(workload, count, results.get(workload)))
}
printTable('CPU time of the servers per request', COLUMNS, rows)

async function warmUp({ origin }, workload) {
  for (let served = 0; served < warmup; ) {
    const given = { workload: ENGINE_WORKLOADS[workload], connections, seconds }
    served += (await load({ origin, ...given })).count
  }
}

async function measure({ servers, cpu }, workload, seconds) {
  const before = cpu()
  const given = { workload: ENGINE_WORKLOADS[workload], connections, seconds }
  const { count, failed } = await loadTogether(servers, given)
  return { us: (cpu() - before) / count, failed }
}

function rowOf(workload, count, results) {
  const times = name => results.map(start => quiet(start.get(name).map(({ us }) => us)))
  const [ours, peer] = [times('ours'), times('fastify')]
  const found = ratios(ours, peer).sort((a, b) => a - b)
  const runs = results.flatMap(start => [...start.values()].flat())
  return [
    TITLES[workload],
    count,
    digits(quiet(ours)),
    digits(quiet(peer)),
    digits(median(found)),
    `${digits(found[0])}–${digits(found.at(-1))}`,
    GOALS[count] ?? 'n/a',
    runs.reduce((sum, { failed }) => sum + failed, 0),
  ]
}
