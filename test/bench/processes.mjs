/**
 * Processes that share an API key in real time, with nothing else in common and with `shared`. Takes
 * as long as the limit of the Free plan demands: four minutes for ten processes with 30 jobs each.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { listen } from '../../dist/adapters/http/index.js'
import { memoryStorage } from '../../dist/adapters/memory.js'
import { createStore } from '../../dist/src/index.js'
import { startRedis } from '../../dist/test/engines/engines.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'

const CALLER = fileURLToPath(new URL('harness/caller.mjs', import.meta.url))
const MINUTE = 60_000
const PER_MINUTE = 60
/** How far into a window the jobs begin. */
const START = 20_000
const { processes, jobs } = readArguments({ processes: 10, jobs: 30 })

printSurroundings(['bottleneck'])
const redis = await startRedis()
const rows = await Promise.all([run('createClient'), run('createClient, shared', redis.url)])
await redis.stop()
const windows = Math.ceil((processes * jobs) / PER_MINUTE) - 1
const optimum = (windows * MINUTE - START) / 1000
printTable(
  `${processes} processes x ${jobs} jobs on Free in real time, optimum ${optimum} s`,
  ['client', 'done', 'attempts', '429', 'bans', 's'],
  rows,
)

async function run(name, shared) {
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { key: { id: 'key', plan: 'free' } },
  })
  let attempts = 0
  let rejected = 0
  let bans = 0
  store.events.on('key.banned', () => bans++)
  const counted = async request => {
    attempts++
    const response = await store.handle(request)
    if (response.status === 429) rejected++
    return response
  }
  const server = await listen({ ...store, handle: counted }, { port: 0 })
  const callers = Array.from({ length: processes }, () => fork(CALLER))
  await Promise.all(callers.map(caller => once(caller, 'message')))

  const startAt = Math.ceil((Date.now() - START) / MINUTE) * MINUTE + START
  const ends = callers.map(caller => once(caller, 'message'))
  for (const caller of callers) caller.send({ url: server.url, shared, jobs, startAt })
  const results = (await Promise.all(ends)).map(([result]) => result)
  await server.close()
  const done = results.reduce((sum, result) => sum + result.done, 0)
  const seconds = (Math.max(...results.map(({ last }) => last)) - startAt) / 1000
  return [name, done, attempts, rejected, bans, Math.round(seconds)]
}
