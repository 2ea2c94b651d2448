import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { type ApiKey, createStore, PLANS } from '../../src/index.js'
import { memoryRateLimitStore } from '../../src/limits/memory-rate-limits.js'
import { decide, type Usage } from '../../src/limits/windows-and-bans.js'
import { DOORS, type Reply } from '../support/doors.js'
import {
  type Consumer,
  consumerOf,
  type Reported,
  rateLimitSuite,
  reported,
} from './rate-limit-suite.js'
import { limitsOf } from './rate-limit-vectors.js'

rateLimitSuite('decide', pureConsumer)
rateLimitSuite('table', () => consumerOf(memoryRateLimitStore()))
for (const [name, open] of Object.entries(DOORS)) rateLimitSuite(name, () => doorConsumer(open))

test('decide - names the window that its numbers describe', () => {
  for (const [policy, window] of [
    [{ perMinute: 1, perDay: 2 }, 'minute'],
    [{ perMinute: 2, perDay: 1 }, 'day'],
    [{ perMinute: 1, perDay: 1 }, 'day'],
  ] as const) {
    const first = decide(undefined, policy, 0)
    const second = decide(first.usage, policy, 0)
    assert.deepEqual([first.decision.window, second.decision.window], [window, window])
    assert.deepEqual([first.decision.limit, second.decision.limit], [1, 1])
  }
})

function pureConsumer(): Consumer {
  const usages = new Map<string, Usage>()
  return {
    consume(partition, policy, now) {
      const { decision, usage } = decide(usages.get(partition), limitsOf(policy), now)
      usages.set(partition, usage)
      return reported(decision)
    },
    restart() {
      for (const [partition, usage] of usages) {
        usages.set(partition, JSON.parse(JSON.stringify(usage)) as Usage)
      }
    },
  }
}

/**
 * A server whose keys are the partitions; a vector's address is the client's address. Requests whose
 * response is not compared only count, and do so in process.
 */
async function doorConsumer(openDoor: (typeof DOORS)['handle']): Promise<Consumer> {
  let now = 0
  let table = memoryRateLimitStore()
  const open = () =>
    createStore({ storage: memoryStorage(), apiKeys: {}, clock: () => now, rateLimitStore: table })
  let store = open()
  let door = await openDoor(store)
  let direct = await DOORS.handle(store)
  const plans = new Map<string, string>()

  return {
    async consume(partition, policy, instant, isCompared) {
      now = instant
      const address = partition.startsWith('addr:') ? partition.slice('addr:'.length) : undefined
      if (address === undefined && plans.get(partition) !== policy) give(partition, policy)
      const call = { path: '/v1/pets', key: address === undefined ? partition : undefined }
      const way = isCompared ? door : direct
      const reply = await way.send(address === undefined ? call : { ...call, client: address })
      return toldBy(reply, address === undefined ? 200 : 401)
    },
    async restart() {
      const snapshot = await table.dump()
      await door.close()
      table = memoryRateLimitStore()
      await table.restore(snapshot)
      store = open()
      plans.clear()
      door = await openDoor(store)
      direct = await DOORS.handle(store)
    },
    close: () => door.close(),
  }

  function give(key: string, policy: string): void {
    store.apiKeys.remove(key)
    const isPlan = Object.hasOwn(PLANS, policy)
    const plan = isPlan ? { plan: policy } : { plan: 'enterprise', limits: limitsOf(policy) }
    store.apiKeys.add(key, { id: key, ...plan } as ApiKey)
    plans.set(key, policy)
  }
}

function toldBy({ status, headers, body }: Reply, admitted: number): Reported {
  const retryAfter = headers['retry-after']
  const code = status === 429 ? (JSON.parse(body) as { code: Reported['code'] }).code : undefined
  if (status !== 429 && status !== admitted) throw new Error(`${status} ${body}`)
  return reported({
    ...(code && { code }),
    limit: Number(headers['x-ratelimit-limit']),
    remaining: Number(headers['x-ratelimit-remaining']),
    reset: Number(headers['x-ratelimit-reset']),
    ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }),
  })
}
