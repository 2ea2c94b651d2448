import { type ClientOptions, createClient } from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type Limits, PLANS } from '../../src/index.js'
import { createVirtualTime, type VirtualTime } from './virtual-time.js'

/** Clients that share a key and nothing else. */
export interface Fleet {
  readonly plan: 'free' | 'pro'
  readonly clients: number
  /** Of each client, all at once. */
  readonly jobs: number
  readonly seed: number
  /**
   * When the jobs begin, in ms after the start of a window.
   * @default 20_000
   */
  readonly startMs?: number
  /**
   * All clients but the first join at random, within this time.
   * @default 0: at once
   */
  readonly joinMs?: number
  /** Between two requests of another caller, who waits for nothing. */
  readonly neighbourMs?: number
  /** @default createClient */
  readonly createCaller?: (surroundings: Surroundings) => () => Promise<unknown>
  readonly options?: Partial<ClientOptions>
}

export interface Surroundings {
  readonly fetch: typeof globalThis.fetch
  readonly time: VirtualTime
  readonly random: () => number
}

export interface Outcome {
  readonly done: number
  readonly attempts: number
  /** Answers 429, and how many of them because of a ban. */
  readonly rejected: number
  readonly banned: number
  readonly bans: number
  readonly seconds: number
  /** The shortest time that the limit allows. */
  readonly optimum: number
}

const T0 = Date.UTC(2030, 0, 1)
const MINUTE = 60_000

/** Runs them on a virtual clock, with a network of 20 to 60 ms each way. */
export async function runFleet(fleet: Fleet): Promise<Outcome> {
  const { plan, clients, jobs, seed, startMs = 20_000, joinMs = 0, neighbourMs } = fleet
  const { createCaller = createOurs, options } = fleet
  const time = createVirtualTime(T0 + startMs)
  const random = createRandom(seed)
  const policy = { ...(PLANS[plan] as Limits), perDay: 1_000_000 }
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { key: { id: 'key', plan: 'enterprise', limits: policy } },
    clock: time.clock,
  })
  const serve = toFetchHandler(store)
  let bans = 0
  let rejected = 0
  let banned = 0
  let attempts = 0
  store.events.on('key.banned', () => bans++)

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    attempts++
    await time.sleep(20 + random() * 40, {})
    const response = await time.hold(() => serve(request))
    await time.sleep(20 + random() * 40, {})
    if (response.status !== 429) return response
    rejected++
    if ((await response.clone().text()).includes('api_key_banned')) banned++
    return response
  }

  let isOver = false
  if (neighbourMs !== undefined) void disturb(neighbourMs)
  const callers = Array.from({ length: clients }, () => createCaller({ fetch, time, random }))
  let last = time.clock()
  const calls = callers.flatMap((call, n) => {
    const joined = n > 0 && joinMs > 0 ? time.sleep(random() * joinMs, {}) : undefined
    return Array.from({ length: jobs }, async () => {
      if (joined) await joined
      await call()
      last = time.clock()
    })
  })
  const results = await time.run(Promise.allSettled(calls))
  isOver = true
  const done = results.filter(({ status }) => status === 'fulfilled').length
  const windows = Math.ceil((clients * jobs) / policy.perMinute) - 1
  return {
    done,
    attempts,
    rejected,
    banned,
    bans,
    seconds: (last - T0 - startMs) / 1000,
    optimum: windows === 0 ? 0 : (windows * MINUTE - startMs) / 1000,
  }

  function createOurs({ fetch, time, random }: Surroundings): () => Promise<unknown> {
    const { clock, sleep } = time
    const baseUrl = 'http://store.test/v1'
    const client = createClient({ baseUrl, apiKey: 'key', fetch, clock, sleep, random, ...options })
    return () => client.listPets()
  }

  async function disturb(everyMs: number): Promise<void> {
    const neighbour = store.forKey('key')
    while (!isOver) {
      await neighbour.listPets().catch(() => {})
      await time.sleep(everyMs, {})
    }
  }
}

/** The same numbers for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
