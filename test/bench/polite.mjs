/**
 * Clients that share an API key and nothing else, on a virtual clock: how many of their jobs are
 * done, what that costs and how long it takes. `npm run bench polite -- --seeds 3 --cells free-10x30`
 */
import { Octokit } from '@octokit/core'
import { throttling } from '@octokit/plugin-throttling'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import Bottleneck from 'bottleneck'
import ky from 'ky'
import pLimit from 'p-limit'
import { runFleet } from '../../dist/test/client/fleet.js'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { median } from './harness/rounds.mjs'

const URL = 'http://store.test/v1'
const HEADERS = { authorization: 'Bearer key' }
const RETRIES = 10
const AT_ONCE = 10
const {
  seeds,
  cells,
  clients: names,
} = readArguments({
  seeds: 3,
  clients: [''],
  cells: ['free-1x300', 'free-10x30', 'free-50x6', 'pro-10x300'],
})

/** Each is given the surroundings of one client, and returns what does one job. */
const CLIENTS = {
  createClient: undefined,
  'Octokit throttling': ({ fetch, random }) => {
    const again = (_wait, _options, _octokit, retries) => retries < RETRIES
    const octokit = new (Octokit.plugin(throttling))({
      baseUrl: URL,
      request: { fetch },
      log: { debug() {}, info() {}, warn() {}, error() {} },
      // Without an id, all clients ever made share one state.
      throttle: { id: `${random()}`, onRateLimit: again, onSecondaryRateLimit: again },
    })
    return () => octokit.request('GET /pets', { headers: HEADERS })
  },
  'bottleneck reservoir': ({ fetch, perMinute }) => {
    const limiter = new Bottleneck({
      maxConcurrent: AT_ONCE,
      reservoir: perMinute,
      reservoirRefreshAmount: perMinute,
      reservoirRefreshInterval: 60_000,
    })
    limiter.on('failed', (error, { retryCount }) =>
      retryCount < RETRIES ? error.retryAfter * 1000 : undefined,
    )
    return () => limiter.schedule(() => get(fetch))
  },
  ky: ({ fetch }) => {
    const client = ky.create({ fetch, headers: HEADERS, timeout: false, retry: RETRIES })
    return limited(() => client.get(`${URL}/pets`).json())
  },
  'axios-retry': ({ fetch }) => {
    const client = axios.create({ adapter: 'fetch', env: { fetch }, headers: HEADERS })
    axiosRetry(client, {
      retries: RETRIES,
      retryDelay: axiosRetry.exponentialDelay,
      retryCondition: error => error.response?.status === 429,
    })
    return limited(() => client.get(`${URL}/pets`))
  },
}

printSurroundings(['@octokit/plugin-throttling', 'bottleneck', 'ky', 'axios-retry'])
for (const cell of cells) {
  const [, plan, clients, jobs] = cell.match(/^(free|pro)-(\d+)x(\d+)$/) ?? []
  const fleet = { plan, clients: Number(clients), jobs: Number(jobs) }
  const rows = []
  let optimum = 0
  for (const [name, create] of Object.entries(CLIENTS)) {
    if (names[0] && !names.includes(name)) continue
    const outcomes = []
    for (let seed = 1; seed <= seeds; seed++) outcomes.push(await run(fleet, create, seed))
    optimum = outcomes[0].optimum
    const figures = ['done', 'attempts', 'rejected', 'banned', 'bans', 'seconds']
    rows.push([name, ...figures.map(figure => range(outcomes.map(outcome => outcome[figure])))])
  }
  printTable(
    `${plan}, ${clients} x ${jobs} jobs, optimum ${optimum} s`,
    ['client', 'done', 'attempts', '429', 'of these banned', 'bans', 's'],
    rows,
  )
}

/** The clients of others know the time only from these globals. */
async function run(fleet, create, seed) {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis
  const { now } = Date
  const perMinute = fleet.plan === 'free' ? 60 : 300
  const createCaller =
    create &&
    (surroundings => {
      const { time } = surroundings
      Date.now = () => Math.floor(time.clock())
      globalThis.setTimeout = (callback, ms = 0, ...values) =>
        startTimer(time, callback, ms, values)
      globalThis.setInterval = (callback, ms, ...values) =>
        startTimer(time, callback, ms, values, true)
      globalThis.clearTimeout = globalThis.clearInterval = timer => timer?.stop?.()
      return create({ ...surroundings, perMinute })
    })
  try {
    return await runFleet({ ...fleet, seed, ...(createCaller && { createCaller }) })
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval })
    Date.now = now
  }
}

function startTimer(time, callback, ms, values, repeats = false) {
  const stop = new AbortController()
  const { signal } = stop
  // At least 1 ms, as Node does: otherwise some callers wait for no time to pass, forever.
  const start = () =>
    time.sleep(Math.max(1, Math.floor(Number(ms)) || 0), { signal }).then(end, () => {})
  const end = () => {
    if (signal.aborted) return
    callback(...values)
    if (repeats) start()
  }
  start()
  const timer = { stop: () => stop.abort(), ref: () => timer, unref: () => timer }
  return timer
}

async function get(fetch) {
  const response = await fetch(`${URL}/pets`, { headers: HEADERS })
  if (response.ok) return response.json()
  const retryAfter = Number(response.headers.get('retry-after'))
  throw Object.assign(new Error(`Answered ${response.status}`), { retryAfter })
}

function limited(job) {
  const limit = pLimit(AT_ONCE)
  return () => limit(job)
}

function range(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.round)
  return least === most ? `${least}` : `${Math.round(median(values))} (${least}–${most})`
}
