/**
 * The HTTP servers at 64 connections: the server has one core, the load generator another. A run
 * starts every server anew and keeps it for many short rounds, in which all take turns. What counts
 * is the CPU time of the server per request, compared within a round.
 */
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, stayOnOtherCores, stop } from './harness/children.mjs'
import { GENERATOR, load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, median, ratios } from './harness/rounds.mjs'
import { SUBJECTS, startSubject } from './harness/servers.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { runs, rounds, seconds, warmup, connections, only, workloads } = readArguments({
  runs: 1,
  rounds: 9,
  seconds: 1,
  warmup: 3,
  connections: 64,
  only: Object.keys(SUBJECTS).filter(name => name !== 'ours-console'),
  workloads: Object.keys(WORKLOADS),
})

const COLUMNS = {
  limit: 'of the limit by CPU',
  lean: 'of the lean limit by CPU',
  cpu: 'CPU µs',
  rate: 'requests/s',
  rateOfLimit: 'of the limit by requests',
  p50: 'p50 ms',
  p99: 'p99 ms',
  failed: 'failed',
}

stayOnOtherCores()
printSurroundings(
  only.flatMap(name => SUBJECTS[name]),
  GENERATOR,
)
/** Of each workload a table per run: subject, column, and the value of each round. */
const tables = new Map(workloads.map(name => [name, []]))
for (let run = 1; run <= runs; run++) {
  for (const name of workloads) {
    const table = await measure(WORKLOADS[name])
    tables.get(name).push(table)
    print(`${name}, ${connections} connections, run ${run}: medians of ${rounds} rounds`, table)
  }
}
if (runs > 1) {
  for (const [name, all] of tables) {
    print(`${name}, ${connections} connections: medians of ${runs} runs`, acrossRuns(all))
  }
}

async function measure(workload) {
  const servers = new Map()
  for (const name of only) servers.set(name, await startSubject(name))
  const call = (name, seconds) =>
    load({ origin: servers.get(name).origin, workload, connections, seconds })
  await inRounds(1, only, name => call(name, warmup))
  const results = await inRounds(rounds, only, async name => {
    const { child } = servers.get(name)
    const before = cpuSeconds(child)
    const round = await call(name, seconds)
    return { ...round, cpu: ((cpuSeconds(child) - before) / round.count) * 1e6 }
  })
  for (const { child } of servers.values()) await stop(child)
  return new Map(only.map(name => [name, columnsOf(results, name)]))
}

function columnsOf(results, name) {
  const column = (field, subject = name) => results.get(subject)?.map(round => round[field]) ?? []
  const own = Object.fromEntries(
    ['cpu', 'rate', 'p50', 'p99', 'failed'].map(field => [field, column(field)]),
  )
  return {
    ...own,
    limit: ratios(column('cpu', 'limit'), own.cpu),
    lean: ratios(column('cpu', 'lean'), own.cpu),
    rateOfLimit: ratios(own.rate, column('rate', 'limit')),
  }
}

/** The median of each run, which is one value from then on. */
function acrossRuns(runs) {
  const fields = Object.keys(COLUMNS)
  return new Map(
    only.map(name => [
      name,
      Object.fromEntries(
        fields.map(field => [field, runs.map(run => median(run.get(name)[field]))]),
      ),
    ]),
  )
}

function print(title, table) {
  const rows = [...table].map(([name, columns]) => [
    name,
    ...Object.keys(COLUMNS).map(field => figure(columns[field])),
  ])
  printTable(title, ['server', ...Object.values(COLUMNS)], rows)
}
