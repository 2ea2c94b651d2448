/** The cost of a double for tests: making one, resetting it, time that passes, and worlds over HTTP. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { toFetchHandler } from '../../dist/adapters/http/fetch.js'
import { memoryStorage } from '../../dist/adapters/stores/memory.js'
import { createTestDouble, DEMO_KEYS } from '../../dist/adapters/test-double/index.js'
import { createStore } from '../../dist/src/index.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, median, quiet, ratios } from './harness/rounds.mjs'

const { rounds, size } = readArguments({ rounds: 5, size: 1_000 })
const FREE = { authorization: 'Bearer demo-free' }
const ANIMALS = Array.from({ length: 10 }, (_, at) => ({ name: `Animal ${at}`, categoryId: at }))

/** Of a tenth of `size` each. */
const SLICES = 50

const TABLE = {
  'createTestDouble(), seed(10 animals) and reset()': () =>
    warmed(async () => {
      const double = createTestDouble()
      await double.seed(ANIMALS)
      double.reset()
    }),
  'snapshot() and restore() of 100 animals and 100 requests': async () => {
    const double = createTestDouble({ rateLimiting: false })
    await double.seed(Array.from({ length: 100 }, (_, at) => ANIMALS[at % 10]))
    for (let sent = 0; sent < 100; sent++) await double.fetch('pets', { headers: FREE })
    return warmed(async () => double.restore(await double.snapshot()))
  },
  'a request through fetch': () => {
    const double = createTestDouble({ rateLimiting: false })
    return warmed(async () => (await double.fetch('pets', { headers: FREE })).text())
  },
  'handle with a Request and a Response around it': () => {
    const store = createStore({ storage: memoryStorage(), apiKeys: DEMO_KEYS, rateLimiting: false })
    const handler = toFetchHandler(store)
    const url = 'http://adoption-store.test/v1/pets'
    return warmed(async () => (await handler(new Request(url, { headers: FREE }))).text())
  },
  'a day of Free, a client that sleeps in double.run': () => eachAwaited(1, sleepThroughADay),
  'POST and DELETE of a world over HTTP': () => worlds(size),
}

printSurroundings()
const results = await inRounds(rounds, Object.keys(TABLE), name => TABLE[name]())
printTable(
  `medians of ${size.toLocaleString('en')}, in ms`,
  ['what', 'ms', 'CPU ms'],
  Object.keys(TABLE).map(name => [
    name,
    figure(results.get(name).map(({ wall }) => wall)),
    figure(results.get(name).map(({ cpu }) => cpu)),
  ]),
)

printTable(
  'CPU time, as a multiple',
  ['what', 'of what', 'multiple'],
  [['a request through fetch', 'handle with a Request and a Response around it']].map(
    ([what, ofWhat]) => [what, ofWhat, figure(ratios(cpuOf(what), cpuOf(ofWhat)))],
  ),
)

function cpuOf(name) {
  return results.get(name).map(({ cpu }) => cpu)
}

/** The median of many runs by the wall; CPU time is too coarse for one, so it is their mean. */
async function eachAwaited(count, run) {
  const times = []
  const cpu = process.cpuUsage()
  for (let at = 0; at < count; at++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return { wall: median(times), cpu: cpuSince(cpu) / count }
}

/** Compiled code against compiled code: each runs before it is measured. The CPU time is the least of its slices. */
async function warmed(run) {
  await eachAwaited(2 * size, run)
  const slices = []
  for (let slice = 0; slice < SLICES; slice++) slices.push(await eachAwaited(size / 10, run))
  const column = name => slices.map(({ [name]: value }) => value)
  return { wall: median(column('wall')), cpu: quiet(column('cpu')) }
}

function cpuSince(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

async function sleepThroughADay() {
  const double = createTestDouble()
  await double.run(() => callPolitely(double, double.clock.sleep))
}

/** More than a day allows, so that it sleeps until the next one. */
async function callPolitely(double, sleep) {
  for (let served = 0; served <= 1_000; ) {
    const answer = await double.fetch('pets', { headers: FREE })
    await answer.text()
    if (answer.status === 200) served++
    else await sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

/** The two commands of one world together, over one connection. */
async function worlds(count) {
  const double = createTestDouble({ control: true })
  const { port, control } = await double.listen()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { pathname } = new URL(control)
  const command = async (method, path) => {
    const headers = { 'content-type': 'application/json' }
    const call = request({ agent, port, method, path: `${pathname}/${path}`, headers }).end()
    const [answer] = await once(call, 'response')
    return (await answer.toArray()).join('')
  }
  const time = await eachAwaited(count, async () => {
    const { id } = JSON.parse(await command('POST', 'worlds'))
    await command('DELETE', `worlds/${id}`)
  })
  agent.destroy()
  await double.close()
  return time
}
