/**
 * The HTTP servers at 64 connections: the server has one core, the load generator another. A run
 * starts every server anew and keeps it for many short rounds, in which all take turns. What counts
 * is the CPU time of the server per request, in its quietest round.
 *
 * `--write` puts the figures into the page and draws their chart.
 */
import { readArguments } from './harness/arguments.mjs'
import { chart } from './harness/chart.mjs'
import { cpuSeconds, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { GENERATOR, load } from './harness/load.mjs'
import { publish, publishChart } from './harness/publish.mjs'
import { printTable, surroundings, table } from './harness/report.mjs'
import { acrossRuns, cell, digits, figure, inRounds, median, quiet } from './harness/rounds.mjs'
import { SUBJECTS, startSubject } from './harness/servers.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { runs, rounds, seconds, warmup, connections, only, workloads, write } = readArguments({
  runs: 1,
  rounds: 22,
  seconds: 1,
  warmup: 3,
  connections: 64,
  only: Object.keys(SUBJECTS),
  workloads: Object.keys(WORKLOADS),
  write: false,
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
/** Under the names that readers know. */
const PEERS = {
  ours: 'animal-adoption-store',
  handwritten: 'handwritten node:http',
  fastify: 'Fastify',
  hono: 'Hono',
  express: 'Express',
  'json-server': 'json-server 0.17',
  'json-server-1': 'json-server 1.0 beta',
}

/** What ours is to reach, of the limit and of the lean limit. */
const GOALS = {
  list: { limit: 0.95, lean: 0.9 },
  get: { limit: 0.94, lean: 0.86 },
  create: { limit: 0.88, lean: 0.82 },
}

/** Before each round, in seconds. */
const WARMUP = 1

/**
 * In ms. V8 drops the compiled code of a server without any requests: after 16 idle seconds and a
 * warm-up of one, a get took us up to 53 µs instead of 24.
 */
const AWAKE_EVERY = 500

stayOnOtherCores()
const measured = surroundings(
  only.flatMap(name => SUBJECTS[name]),
  GENERATOR,
)
console.log(`\n${measured}`)
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
console.log(`\n${noise()} ${ahead()} ${goals()}`)
if (write) writePage()

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

/** One table for the page: shares of the limit and CPU time, side by side. */
function writePage() {
  const peers = Object.keys(PEERS).filter(name => only.includes(name))
  const columns = [...workloads, ...workloads.map(name => `${name}, CPU µs`)]
  const rows = only.map(name => [
    name,
    ...workloads.map(of(name, figure)),
    ...workloads.map(workload => digits(median(results.get(workload).get(name).cpu))),
  ])
  const shares = table(['server', ...columns], rows)
  publish('http', [measured, shares, `${noise()} ${ahead()} ${goals()}`].join('\n\n'))
  publishChart(
    'http',
    chart({
      title: 'Requests for the same CPU time, as a share of a bare node:http server (dashed)',
      panels: workloads,
      rows: peers.map(peer => ({
        name: PEERS[peer],
        isOurs: peer === 'ours',
        cells: workloads.map(of(peer, cell)),
      })),
      most: 1,
      mark: 1,
      format: value => (value > 1 ? '≥ 1' : value.toFixed(2)),
    }),
  )
}

function of(peer, show) {
  return name => show(results.get(name).get(peer).limit)
}

/** How far two processes of the same program differ. */
function noise() {
  const values = [...results.values()].flatMap(result => result.get('limit-again')?.limit ?? [])
  return `\`limit-again\`, the same program as the limit, got ${figure(values)} of it: smaller differences are noise, and a share above 1 is as fast as the limit, not faster.`
}

function ahead() {
  const found = [...results].flatMap(([name, result]) => {
    const share = peer => median(result.get(peer)?.limit ?? [])
    return Object.keys(PEERS)
      .filter(peer => share(peer) > share('ours'))
      .map(
        peer =>
          `${PEERS[peer]} in ${name} (${digits(share(peer))} to our ${digits(share('ours'))})`,
      )
  })
  if (found.length === 0) return 'No peer in this table is ahead of ours.'
  return `**Where a peer is ahead:** ${found.join(', ')}.`
}

/** Above 1 is noise: two processes of one program differ as much. */
function shareText(share) {
  return share > 1 ? 'at least 1' : digits(share)
}

function goals() {
  const list = [...results].flatMap(([name, result]) =>
    Object.entries(GOALS[name])
      .map(([limit, goal]) => ({ limit, goal, share: median(result.get('ours')?.[limit] ?? []) }))
      .filter(({ share }) => Number.isFinite(share))
      .map(({ limit, goal, share }) => {
        const verdict = share < goal ? `misses ${goal}` : `goal ${goal}`
        return `${name} ${shareText(share)} of ${limit} (${verdict})`
      }),
  )
  return `Ours reaches ${list.join(', ')}.`
}
