/** What a test pays for a double of its own, and for a world of its own on a shared port. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createTestDouble } from '../../dist/adapters/test-double/index.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, median } from './harness/rounds.mjs'

const { rounds, size } = readArguments({ rounds: 5, size: 1_000 })
const FREE = { authorization: 'Bearer demo-free' }

const TABLE = {
  'createTestDouble()': () => each(size, () => createTestDouble()),
  'reset()': () => {
    const double = createTestDouble()
    return each(size, () => double.reset())
  },
  'a request through fetch': () => {
    const double = createTestDouble({ rateLimit: false })
    return eachAwaited(size, async () => (await double.fetch('pets', { headers: FREE })).text())
  },
  'a day of Free, 1,001 requests': () => eachAwaited(1, useUpADay),
  'POST and DELETE of a world over HTTP': () => worlds(size),
  'the end of a process with live sockets': () => endOfProcess(),
}

printSurroundings()
const results = await inRounds(rounds, Object.keys(TABLE), name => TABLE[name]())
printTable(
  `medians of ${size.toLocaleString('en')}, in ms`,
  ['what', 'ms'],
  Object.keys(TABLE).map(name => [name, figure(results.get(name))]),
)

function each(count, run) {
  const times = []
  for (let at = 0; at < count; at++) {
    const start = performance.now()
    run()
    times.push(performance.now() - start)
  }
  return median(times)
}

async function eachAwaited(count, run) {
  const times = []
  for (let at = 0; at < count; at++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return median(times)
}

async function useUpADay() {
  const double = createTestDouble()
  for (let count = 0; count <= 1_000; count++) {
    if (count > 0 && count % 60 === 0) double.clock.advance('1m')
    await (await double.fetch('pets', { headers: FREE })).text()
  }
}

/** The two commands of one world together, over one connection. */
async function worlds(count) {
  const double = createTestDouble({ control: true })
  const { port } = await double.listen()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const command = async (method, path) => {
    const headers = { 'content-type': 'application/json' }
    const call = request({ agent, port, method, path: `/_control/${path}`, headers }).end()
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

/** From the end of the block that held the server to the end of the process. */
async function endOfProcess() {
  const script = `
    import { createTestDouble } from '${new URL('../../dist/adapters/test-double/index.js', import.meta.url)}'
    const server = await createTestDouble().listen()
    await Promise.all(Array.from({ length: 10 }, async () => (await fetch(server.url + '/pets')).text()))
    const end = performance.now()
    await server[Symbol.asyncDispose]()
    process.on('exit', () => console.log(performance.now() - end))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  return Number((await child.stdout.toArray()).join(''))
}
