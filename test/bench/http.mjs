/**
 * The HTTP servers at 64 connections: the server has one core, the load generator another. A run
 * starts every server anew and keeps it for many short rounds, in which all take turns. What counts
 * is the CPU time of the server per request, in its quietest round.
 */
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { GENERATOR, load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { acrossRuns, figure, inRounds, quiet } from './harness/rounds.mjs'
import { SUBJECTS, startSubject } from './harness/servers.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { runs, rounds, seconds, warmup, connections, only, workloads } = readArguments({
  runs: 1,
  rounds: 22,
  seconds: 1,
  warmup: 3,
  connections: 64,
  only: Object.keys(SUBJECTS),
  workloads: Object.keys(WORKLOADS),
})

const COLUMNS = {
  limit: 'of the limit',
  lean: 'of the lean limit',
  cpu: 'CPU µs',
  rate: 'requests/s',
  rateOfLimit: 'of the limit by requests',
  p50: 'p50 ms',
  p99: 'p99 ms',
  failed: 'failed',
}
/** Before each round, in seconds. */
const WARMUP = 1

/**
 * In ms. V8 drops the compiled code of a server without any requests: after 16 idle seconds and a
 * warm-up of one, a get took us up to 53 µs instead of 24.
 */
const AWAKE_EVERY = 500

stayOnOtherCores()
printSurroundings(
  only.flatMap(name => SUBJECTS[name]),
  GENERATOR,
)
/** Of each workload and run: subject, column, and the value of each round. */
const all = new Map(workloads.map(name => [name, []]))
for (let run = 1; run <= runs; run++) {
  for (const name of workloads) {
    const results = await measure(WORKLOADS[name])
    all.get(name).push(results)
    const title = `${name}, ${connections} connections, run ${run}: ${rounds} rounds`
    printTable(title, headings(), rowsOf(results))
  }
}
const results = new Map([...all].map(([name, runs]) => [name, acrossRuns(runs)]))
for (const [name, result] of runs > 1 ? results : []) {
  const title = `${name}, ${connections} connections: medians of ${runs} runs`
  printTable(title, headings(), rowsOf(result))
}

async function measure(workload) {
  const servers = new Map()
  const call = (name, seconds) =>
    load({ origin: servers.get(name).origin, workload, connections, seconds })
  for (const name of only) {
    // At once: V8 frees memory after 8 idle seconds, which slows down a process before its first load.
    servers.set(name, await startSubject(name))
    await call(name, warmup)
  }
  const awake = keepAwake([...servers.values()], workload)
  const results = await inRounds(rounds, only, async name => {
    const { child } = servers.get(name)
    await call(name, WARMUP)
    const before = cpuSeconds(child)
    const round = await call(name, seconds)
    return { ...round, cpu: ((cpuSeconds(child) - before) / round.count) * 1e6 }
  })
  clearInterval(awake)
  for (const { child } of servers.values()) await stop(child)
  return new Map(only.map(name => [name, columnsOf(results, name)]))
}

/** Sends every server a request now and then while the others have their turns. */
function keepAwake(servers, { requests: [request] }) {
  return setInterval(() => {
    for (const { origin } of servers) exchange(origin, request).catch(() => {})
  }, AWAKE_EVERY)
}

function columnsOf(results, name) {
  const column = (field, subject = name) => results.get(subject)?.map(round => round[field]) ?? []
  const cpu = subject => quiet(column('cpu', subject))
  // Seconds per request.
  const pace = subject => quiet(column('rate', subject).map(rate => 1 / rate))
  return {
    limit: [cpu('limit') / cpu(name)],
    lean: [cpu('lean') / cpu(name)],
    cpu: [cpu(name)],
    rate: [1 / pace(name)],
    rateOfLimit: [pace('limit') / pace(name)],
    ...Object.fromEntries(['p50', 'p99', 'failed'].map(field => [field, column(field)])),
  }
}

function headings() {
  return ['server', ...Object.values(COLUMNS)]
}

function rowsOf(result) {
  return [...result].map(([name, columns]) => [
    name,
    ...Object.keys(COLUMNS).map(field => figure(columns[field])),
  ])
}
