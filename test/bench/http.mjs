/**
 * The HTTP servers at 64 connections: the server has one core, the load generator another. Every
 * server is started anew for an operation and kept for many short rounds, in which all take turns. What
 * counts is the CPU time of the server per request, in its quietest round.
 */
import { readArguments } from './harness/arguments.mjs'
import { cpuSeconds, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { load } from './harness/load.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { digits, inRounds, quiet } from './harness/rounds.mjs'
import { SUBJECTS, startSubject } from './harness/servers.mjs'
import { WORKLOADS } from './harness/workload.mjs'

const { rounds, seconds, warmup, connections, only, workloads } = readArguments({
  rounds: 22,
  seconds: 1,
  warmup: 3,
  connections: 64,
  only: Object.keys(SUBJECTS),
  workloads: Object.keys(WORKLOADS),
})

/** Before each round, in seconds. */
const WARMUP = 1

/**
 * In ms. V8 drops the compiled code of a server without any requests: after 16 idle seconds and a
 * warm-up of one, a get took us up to 53 µs instead of 24.
 */
const AWAKE_EVERY = 500

stayOnOtherCores()
printSurroundings(only.flatMap(name => SUBJECTS[name]))
for (const name of workloads) {
  const results = await measure(WORKLOADS[name])
  const quietest = subject => quiet((results.get(subject) ?? []).map(({ cpu }) => cpu))
  printTable(
    `${name}, ${connections} connections, ${rounds} rounds`,
    ['server', 'of the limit', 'CPU µs', 'failed'],
    only.map(subject => [
      subject,
      digits(quietest('limit') / quietest(subject)),
      digits(quietest(subject)),
      results.get(subject).reduce((sum, { failed }) => sum + failed, 0),
    ]),
  )
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
    const { count, failed } = await call(name, seconds)
    return { failed, cpu: ((cpuSeconds(child) - before) / count) * 1e6 }
  })
  clearInterval(awake)
  for (const { child } of servers.values()) await stop(child)
  return results
}

/** Sends every server a request now and then while the others have their turns. */
function keepAwake(servers, { requests: [request] }) {
  return setInterval(() => {
    for (const { origin } of servers) exchange(origin, request).catch(() => {})
  }, AWAKE_EVERY)
}
