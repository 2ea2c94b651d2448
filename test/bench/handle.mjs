/**
 * Time per request without a socket: our `handle`, Fastify's `inject` (light-my-request) and
 * Hono's `app.request`, on the applications of the HTTP table; and ours with a console that nobody
 * watches.
 */
import { readArguments } from './harness/arguments.mjs'
import { result, stayOnOtherCores } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { rounds } = readArguments({ rounds: 5 })
const PEERS = {
  ours: [],
  'ours-console': [],
  fastify: ['fastify', 'light-my-request'],
  hono: ['hono'],
}

stayOnOtherCores()
printSurroundings(Object.values(PEERS).flat())
const names = Object.keys(PEERS)
const results = await inRounds(rounds, names, name => result(['servers/call.mjs', name]))
for (const operation of Object.keys(WORKLOADS)) {
  const column = name => results.get(name).map(run => run[operation])
  printTable(
    `${operation} without a socket`,
    ['application', 'µs', 'times ours'],
    names.map(name => [name, figure(column(name)), figure(ratios(column(name), column('ours')))]),
  )
}
