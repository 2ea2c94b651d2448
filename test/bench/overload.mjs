// Memory of a server under 10,000 idle connections and under overload, and whether it still answers.
// Everything is on 127.0.0.1. Run after `npm run build`:
//
//   node test/bench/overload.mjs [seconds=60] [connections=10000]
import { fork } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import { connect } from 'node:net'

/** A server in its own process, which reports its memory on request. */
async function serve() {
  const { createStore } = await import('../../dist/src/index.js')
  const { memoryStorage } = await import('../../dist/adapters/memory.js')
  const { listen } = await import('../../dist/adapters/http/index.js')
  const limits = { perMinute: 100_000_000, perDay: 1_000_000_000 }
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'enterprise', limits } },
  })
  let animals = 0
  store.events.on('pet.created', () => animals++)
  for (let n = 0; n < 1_000; n++) await store.createPet({ name: `Pet ${n}`, categoryId: n })
  const server = await listen(store, { port: 0, headersTimeout: 600_000, requestTimeout: 600_000 })
  process.on('message', () => process.send({ rss: process.memoryUsage().rss, animals }))
  process.on('disconnect', () => process.exit())
  process.send({ port: server.port })
}

async function attack(seconds, connections) {
  const server = fork(new URL(import.meta.url), { env: { ...process.env, OVERLOAD_SERVER: '1' } })
  const [{ port }] = await once(server, 'message')
  const ask = async () => {
    server.send('how are you')
    const [message] = await once(server, 'message')
    return message
  }
  const rss = async () => (await ask()).rss
  const before = await rss()
  console.log(`RSS before              ${megabytes(before)}`)

  const idle = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const idling = await rss()
  const each = Math.round((idling - before) / connections)
  console.log(`RSS with ${connections} idle     ${megabytes(idling)} (${each} bytes each)`)
  console.log(`still answering         ${(await answers(port)) ? 'yes' : 'no'}`)

  let peak = idling
  const watch = setInterval(async () => {
    peak = Math.max(peak, await rss())
  }, 500)
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const attackers = Array.from({ length: 64 }, (_, n) => ATTACKS[n % ATTACKS.length](port, stop))
  setTimeout(() => stop.abort(), seconds * 1_000)
  const counts = await Promise.all(attackers)
  clearInterval(watch)
  const total = counts.reduce((sum, count) => sum + count, 0)
  console.log(
    `answered in ${seconds} s         ${total} (${Math.round(total / seconds)} per second)`,
  )
  console.log(`RSS peak                ${megabytes(peak)}`)

  for (const socket of idle) socket.destroy()
  await new Promise(resolve => setTimeout(resolve, 2_000))
  console.log(`RSS after               ${megabytes(await rss())}`)
  console.log(`animals, all in memory  ${(await ask()).animals}`)
  const still = await answers(port)
  console.log(`still answering         ${still ? 'yes' : 'no'}`)
  server.disconnect()
  process.exit(still ? 0 : 1)
}

const AUTHORIZED = 'Host: a\r\nAuthorization: Bearer demo\r\n'
const LIST = `GET /v1/pets?limit=100 HTTP/1.1\r\n${AUTHORIZED}\r\n`
const PET = '{"name":"Rex","categoryId":1}'
const LARGE = 'x'.repeat(1_000_000)
const CREATE = `POST /v1/pets HTTP/1.1\r\n${AUTHORIZED}Content-Length: ${PET.length}\r\n\r\n${PET}`
const UPLOAD = `POST /v1/nope HTTP/1.1\r\n${AUTHORIZED}Content-Length: 1000000\r\n\r\n${LARGE}`

/** Pipelined large lists and creates, uploads of a megabyte, and garbage. */
const ATTACKS = [
  (port, stop) => repeat(port, stop, LIST.repeat(16), 16),
  (port, stop) => repeat(port, stop, CREATE.repeat(16), 16),
  (port, stop) => repeat(port, stop, UPLOAD, 1),
  (port, stop) => repeat(port, stop, `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 1),
]

/** Repeats a request after each response, on a new connection when the old one ends. */
async function repeat(port, { signal }, bytes, answersEach) {
  let answered = 0
  while (!signal.aborted) {
    const socket = await open(port)
    let pending = answersEach
    socket.on('data', chunk => {
      const count = chunk.toString('latin1').split('HTTP/1.1 ').length - 1
      answered += count
      pending -= count
      if (pending > 0 || signal.aborted) return
      pending = answersEach
      socket.write(bytes)
    })
    socket.write(bytes)
    const abort = () => socket.destroy()
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    await new Promise(resolve => socket.once('close', resolve))
    signal.removeEventListener('abort', abort)
  }
  return answered
}

async function open(port) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  return socket
}

async function answers(port) {
  const socket = await open(port)
  socket.write(LIST)
  const late = setTimeout(() => socket.destroy(), 5_000)
  const [text = ''] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  clearTimeout(late)
  socket.destroy()
  return String(text).startsWith('HTTP/1.1 200 ')
}

function megabytes(bytes) {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}

if (process.env.OVERLOAD_SERVER) await serve()
else await attack(Number(process.argv[2] ?? 60), Number(process.argv[3] ?? 10_000))
