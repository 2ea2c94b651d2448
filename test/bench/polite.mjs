// 300 jobs at once on a Free key, on a virtual clock: what becomes of them with each client.
// Run with: npm run build && node test/bench/polite.mjs
import { createClientServer, T0 } from '../../dist/test/client-server.js'

const JOBS = 300

/** Each is given the server and returns what does one job. */
const CLIENTS = {
  'createClient of this package': server => {
    const client = server.client({ random: createRandom() })
    return () => client.listPets()
  },
  'retries after Retry-After, each call alone': server => {
    const random = createRandom()
    return withSlots(10, () =>
      retrying(server, (retry, told) => told * 1000 + random() * 1000 * 2 ** retry),
    )
  },
  'retries with backoff, Retry-After unread': server => {
    const random = createRandom()
    return withSlots(10, () => retrying(server, retry => random() * 1000 * 2 ** retry))
  },
}

console.log(`${JOBS} jobs, 60 requests a minute, 10 at once; time is virtual\n`)
console.log('| client | done | attempts | 429 | of these banned | bans | s |')
console.log('|---|---|---|---|---|---|---|')
for (const [name, start] of Object.entries(CLIENTS)) {
  const server = createClientServer()
  let bans = 0
  let limited = 0
  server.store.events.on('key.banned', () => bans++)
  server.store.events.on('limit.exceeded', () => limited++)
  const job = start(server)
  const results = await server.time.run(
    Promise.allSettled(Array.from({ length: JOBS }, () => job())),
  )
  const done = results.filter(({ status }) => status === 'fulfilled').length
  const rejected = server.seen.filter(line => line.includes(' 429 ')).length
  const seconds = Math.round((server.time.clock() - T0) / 1000)
  const cells = [name, done, server.seen.length, rejected, rejected - limited, bans, seconds]
  console.log(`| ${cells.join(' | ')} |`)
}

async function retrying({ fetch, time }, waitBefore) {
  for (let retry = 0; retry < 10; retry++) {
    const response = await fetch('http://store.test/v1/pets', {
      headers: { authorization: 'Bearer key' },
    })
    if (response.status !== 429) return response.json()
    const wait = waitBefore(retry, Number(response.headers.get('retry-after')))
    await time.sleep(wait, new AbortController().signal)
  }
  throw new Error('Given up')
}

/** Runs at most so many at once, in order. */
function withSlots(count, job) {
  const free = Array.from({ length: count }, () => Promise.resolve())
  let next = 0
  return () => {
    const slot = next++ % count
    const run = free[slot].then(job)
    free[slot] = run.catch(() => {})
    return run
  }
}

/** The same numbers every time (mulberry32). */
function createRandom(seed = 1) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
