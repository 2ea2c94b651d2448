/**
 * CPU time of the proxy of `exec --through` per request, beside a bare proxy of node:http in front of
 * the same server. Slices alternate, and the smallest of each counts, as noise only adds.
 */
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, startServer, stayOnOtherCores, stop } from './harness/children.mjs'
import { load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure } from './harness/rounds.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { rounds, slices, seconds, connections } = readArguments({
  rounds: 3,
  slices: 10,
  seconds: 1,
  connections: 16,
})
const PROXIES = ['proxy-bare', 'proxy-judge']

stayOnOtherCores()
printSurroundings([])
const service = await startServer(['servers/start.mjs', 'ours'])
const rows = []
for (const name of ['list', 'get', 'create']) {
  const results = []
  for (let round = 0; round < rounds; round++) results.push(await measure(WORKLOADS[name]))
  const column = proxy => figure(results.map(result => result[proxy] * 1e6))
  const share = figure(results.map(result => result['proxy-bare'] / result['proxy-judge']))
  rows.push([name, ...PROXIES.map(column), share])
}
printTable(
  'CPU µs per request, and throughput for the same CPU time',
  ['', 'bare', 'judge', 'of bare'],
  rows,
)
await stop(service.child)

async function measure(workload) {
  const best = {}
  const proxies = []
  for (const name of PROXIES) {
    proxies.push({ name, ...(await startServer(['servers/start.mjs', name, service.origin])) })
    await load({ ...proxies.at(-1), workload, connections, seconds: 2 })
  }
  for (let slice = 0; slice < slices; slice++) {
    for (const { name, child, origin } of slice % 2 === 0 ? proxies : proxies.toReversed()) {
      const before = cpuSeconds(child)
      const { count, failed } = await load({ origin, workload, connections, seconds })
      if (failed > 0) throw new Error(`${name} failed ${failed} of ${count} requests`)
      best[name] = Math.min(best[name] ?? Infinity, (cpuSeconds(child) - before) / count)
    }
  }
  for (const { child } of proxies) await stop(child)
  return best
}
