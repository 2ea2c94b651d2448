import { type ClientOptions, createClient } from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type Limits, PLANS } from '../../src/index.js'
import { randomFrom } from '../test-double/clients/api.js'
import { createVirtualTime } from './virtual-time.js'

/** Clients that share a key and nothing else. */
export interface Fleet {
  readonly plan: 'free' | 'pro'
  readonly clients: number
  /** Of each client, all at once. */
  readonly jobs: number
  readonly seed: number
  /**
   * All clients but the first join at random, within this time.
   * @default 0: at once
   */
  readonly joinMs?: number
  /** Between two requests of another caller, who waits for nothing. */
  readonly neighbourMs?: number
  readonly options?: Partial<ClientOptions>
}

export type Outcome = Awaited<ReturnType<typeof runFleet>>

const T0 = Date.UTC(2030, 0, 1)
const MINUTE = 60_000
/** When the jobs begin, in ms after the start of a window. */
const START = 20_000

/** Runs them on a virtual clock, with a network of 20 to 60 ms each way. */
export async function runFleet(fleet: Fleet) {
  const { plan, clients, jobs, seed, joinMs = 0, neighbourMs, options } = fleet
  const time = createVirtualTime(T0 + START)
  const random = randomFrom(seed)
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
  store.events.on('key.banned', () => bans++)

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
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
  const { clock, sleep } = time
  const baseUrl = 'http://store.test/v1'
  const callers = Array.from({ length: clients }, () =>
    createClient({ baseUrl, apiKey: 'key', fetch, clock, sleep, random, ...options }),
  )
  let last = time.clock()
  const calls = callers.flatMap((client, n) => {
    const joined = n > 0 && joinMs > 0 ? time.sleep(random() * joinMs, {}) : undefined
    return Array.from({ length: jobs }, async () => {
      if (joined) await joined
      await client.listPets()
      last = time.clock()
    })
  })
  const results = await time.run(Promise.allSettled(calls))
  isOver = true
  const done = results.filter(({ status }) => status === 'fulfilled').length
  const windows = Math.ceil((clients * jobs) / policy.perMinute) - 1
  return {
    done,
    /** Answers 429, and how many of them because of a ban. */
    rejected,
    banned,
    bans,
    seconds: (last - T0 - START) / 1000,
    /** The shortest time that the limit allows. */
    optimum: windows === 0 ? 0 : (windows * MINUTE - START) / 1000,
  }

  async function disturb(everyMs: number): Promise<void> {
    const neighbour = store.forKey('key')
    while (!isOver) {
      await neighbour.listPets().catch(() => {})
      await time.sleep(everyMs, {})
    }
  }
}
