/**
 * The HTTP servers at 64 connections: the server has one core, the load generator another. Every
 * run is a fresh process, and all subjects take turns in every round.
 */
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, stayOnOtherCores, stop } from './harness/children.mjs'
import { load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { SUBJECTS, startSubject } from './harness/servers.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { rounds, seconds, warmup, connections, only, workloads } = readArguments({
  rounds: 5,
  seconds: 2,
  warmup: 2,
  connections: 64,
  only: Object.keys(SUBJECTS),
  workloads: Object.keys(WORKLOADS),
})

const COLUMNS = [
  'server',
  'requests/s',
  'of the limit',
  'CPU s per 100,000',
  'of the limit by CPU',
  'p50 ms',
  'p99 ms',
  'failed',
]

stayOnOtherCores()
printSurroundings(only.flatMap(name => SUBJECTS[name]))
for (const name of workloads) {
  const results = await inRounds(rounds, only, subject => measure(subject, WORKLOADS[name]))
  const base = results.get('limit')
  const rows = only.map(subject => {
    const runs = results.get(subject)
    const column = field => runs.map(run => run[field])
    const ofLimit = (field, better) =>
      base
        ? figure(
            ratios(
              ...better(
                column(field),
                base.map(run => run[field]),
              ),
            ),
          )
        : 'n/a'
    return [
      subject,
      figure(column('rate')),
      ofLimit('rate', (own, limit) => [own, limit]),
      figure(column('cpu')),
      ofLimit('cpu', (own, limit) => [limit, own]),
      figure(column('p50')),
      figure(column('p99')),
      column('failed').reduce((sum, failed) => sum + failed, 0),
    ]
  })
  printTable(`${name}, ${connections} connections`, COLUMNS, rows)
}

async function measure(subject, workload) {
  const server = await startSubject(subject)
  let before = 0
  const onMeasure = () => {
    before = cpuSeconds(server.child)
  }
  const { origin } = server
  const run = await load({ origin, workload, connections, warmUp: warmup, seconds, onMeasure })
  const cpu = ((cpuSeconds(server.child) - before) / run.count) * 100_000
  await stop(server.child)
  return { ...run, cpu }
}
