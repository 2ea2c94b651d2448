/** What a call costs beside a plain `fetch`, and what a long queue costs. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient } from '../../dist/adapters/client/index.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'

const { rounds, calls } = readArguments({ rounds: 7, calls: 2_000 })
const server = fork(fileURLToPath(new URL('servers/one-page.mjs', import.meta.url)))
const [port] = await once(server, 'message')
const baseUrl = `http://127.0.0.1:${port}/v1`
const client = createClient({ baseUrl, apiKey: 'key' })
const headers = { authorization: 'Bearer key' }
const plain = async () => (await fetch(`${baseUrl}/pets`, { headers })).json()
const ours = () => client.listPets()

printSurroundings()
const subjects = {
  'fetch, one by one': () => oneByOne(plain, calls),
  'createClient, one by one': () => oneByOne(ours, calls),
  'fetch, ten at once': () => atOnce(plain),
  'createClient, ten at once': () => atOnce(ours),
}
for (const run of Object.values(subjects)) await run()
const results = await inRounds(rounds, Object.keys(subjects), name => cpu(subjects[name]))
printTable(
  'CPU time of a call in µs',
  ['call', 'fetch', 'createClient', 'beside fetch'],
  ['one by one', 'ten at once'].map(mode => {
    const [theirs, mine] = ['fetch', 'createClient'].map(name => results.get(`${name}, ${mode}`))
    return [mode, figure(theirs), figure(mine), figure(ratios(mine, theirs))]
  }),
)
server.kill()

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')
const rows = []
for (const count of [1_000, 10_000, 100_000]) rows.push(await drain(count))
printTable('calls queued at once, without a network', ['calls', 'µs each', 'MB waiting'], rows)

async function drain(count) {
  const fetch = async () => new Response('[]')
  const queued = createClient({ baseUrl, apiKey: 'key', fetch, maxQueued: count })
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const start = process.cpuUsage()
  const waiting = Array.from({ length: count }, () => queued.listPets())
  const { user, system } = process.cpuUsage(start)
  collectGarbage()
  const megabytes = (process.memoryUsage().heapUsed - before) / 2 ** 20
  const restart = process.cpuUsage()
  await Promise.all(waiting)
  const rest = process.cpuUsage(restart)
  const microseconds = (user + system + rest.user + rest.system) / count
  return [count.toLocaleString('en'), figure([microseconds]), figure([megabytes])]
}

async function cpu(run) {
  const start = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / calls
}

async function oneByOne(call, count) {
  for (let n = 0; n < count; n++) await call()
}

function atOnce(call) {
  return Promise.all(Array.from({ length: 10 }, () => oneByOne(call, calls / 10)))
}
