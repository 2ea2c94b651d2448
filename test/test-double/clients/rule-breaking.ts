import type { RuleId } from '../../../adapters/test-double/index.js'
import { ADA, another, type Call, type Client, randomFrom, retry, times } from './api.js'

const SMALL = { id: 'small', plan: 'enterprise', limits: { perMinute: 9, perDay: 5 } } as const
const WRONG: Call = { body: { name: 'Ada' } }

/** Each breaks one rule, and no other. */
const CLIENTS: Partial<Record<RuleId, Record<string, Client>>> = {
  'retry-after.early': {
    async 'polls through every 429 on one connection, after calls in parallel'(api) {
      await Promise.all(times(2).map(() => api.connection()()))
      await api.poll(api.connection(), 400, 0.8)
    },
    'polls by fetch through every 429, slower than its quota': ({ send, poll }) =>
      poll(send, 200, 0.8),
    async 'loads two lists at once, and then polls by fetch through every 429'(api) {
      await Promise.all(times(2).map(at => api.send({ path: `pets?limit=${at + 3}` })))
      await api.poll(api.send, 400, 0.8)
    },
    async 'is a shell loop with a curl every two seconds, and a quota of twenty a minute'(api) {
      const limits = { perMinute: 20, perDay: 1_000, banAfterRejections: 100 }
      api.double.addKey('small', { id: 'small', plan: 'enterprise', limits })
      await api.poll(api.send, 44, 2, { key: 'small' })
    },
    async 'polls two lists in turn through every 429'({ connection, poll }) {
      const send = connection()
      await poll(send, 200, 0.8, at => ({ path: `pets?limit=${(at % 2) + 1}` }))
    },
    async 'has two deaf workers with a connection each'(api) {
      const workers = times(2).map(() => api.connection())
      await Promise.all(workers.map(send => send()))
      await api.poll(
        call => (workers[api.double.requests().length % 2] as typeof api.send)(call),
        300,
        0.7,
      )
    },
    async 'waits half as long as Retry-After says, each time'({ send, pass, fail }) {
      for (const _ of times(6)) {
        fail(503, { retryAfter: 20 })
        await send()
        pass(10)
        await send()
        pass(120)
      }
      await send()
    },
    async 'gives up after five quick retries of a create'(api) {
      await Promise.all(times(2).map(() => api.send()))
      api.fail(503, { retryAfter: 60, times: 6 })
      await api.poll(api.send, 6, 2, { body: ADA })
    },
    async 'waits one second, whatever Retry-After says, and goes on'({ connection, pass, fail }) {
      const send = connection()
      for (const _ of times(5)) {
        fail(429, { retryAfter: 3 })
        while ((await send()).status === 429) pass(1)
        pass(30)
      }
    },
    async 'polls every five seconds through a day without quota, by fetch'(api) {
      await Promise.all(times(2).map(() => api.send()))
      api.double.addKey('small', SMALL)
      await api.poll(api.send, 60, 10, { key: 'small' })
    },
    async 'polls on through a 503 that lasts, beside a job that is served'(api) {
      await Promise.all(times(2).map(() => api.send()))
      api.fail(503, { retryAfter: 30, times: 'always', operation: 'listPets' })
      for (const at of times(25)) {
        await api.send()
        await api.send(another(at))
        api.pass(1)
      }
    },
    async 'retries every second over a pool of four connections'({ pool, poll, exhaust }) {
      const send = pool(4)
      await exhaust(send)
      await poll(send, 16, 1)
    },
    'is curl in a loop': ({ send, poll }) => poll(send, 90),
    async 'takes Retry-After for milliseconds'({ connection, pass }) {
      const send = connection()
      for (const _ of times(64)) {
        const { status, retryAfter } = await send()
        if (status === 429) pass(retryAfter / 1000)
      }
    },
    async 'retries a 503 at once, succeeds, and goes on for an hour'({ send, poll, fail }) {
      fail(503, { retryAfter: 2 })
      await send()
      await poll(send, 61, 60)
    },
    async 'retries at once over two connections that take turns'({ connection, fail }) {
      const one = connection()
      await one()
      const other = connection()
      for (const send of [other, one, other]) await send()
      fail(503, { retryAfter: 30 })
      for (const send of [one, other]) await send()
    },
    async 'opens a connection for each attempt and keeps it, after calls in parallel'(api) {
      await Promise.all(times(4).map(() => api.connection()()))
      api.fail(429, { retryAfter: 90, times: 7 })
      await retry(api, call => api.connection()(call), [0.5, 1, 2, 4, 4, 4])
    },
    async 'retries twelve times at once, on a connection each that it never closes'(api) {
      api.fail(429, { retryAfter: 60, times: 12 })
      await api.poll(() => api.connection()(), 13)
    },
    'polls through the wait at its own pace': ({ connection, poll }) =>
      poll(connection(), 160, 0.7),
  },
  'remaining.ignored': {
    async 'sends one other request after each of six rejections'({ connection, pass, exhaust }) {
      const send = connection()
      for (const at of times(6)) {
        await exhaust(send)
        const { retryAfter } = await send()
        pass(1)
        await send(another(at))
        pass(retryAfter - 1)
      }
    },
    async 'creates other animals every two seconds through every 429'({ send, poll, exhaust }) {
      await exhaust()
      await poll(send, 20, 2, another)
    },
    async 'creates other animals through every 429, after calls in parallel'(api) {
      await Promise.all(times(2).map(() => api.connection()()))
      await api.exhaust()
      await api.poll(api.send, 20, 2, another)
    },
    'goes on with other animals, with a connection each time': ({ send, poll }) =>
      poll(send, 64, 0, another),
    async 'goes on with other animals on its connection'({ connection, poll, exhaust }) {
      const send = connection()
      await exhaust(send)
      await poll(send, 3, 0, another)
    },
  },
  'ban.risked': {
    async 'retries at once until it is banned'({ send, exhaust }) {
      await exhaust()
      while ((await send()).code !== 'api_key_banned');
    },
    async 'goes on after it is banned'({ connection, poll, exhaust }) {
      const send = connection()
      await exhaust(send)
      await poll(send, 60, 0.1)
    },
    async 'has 40 requests in flight that nothing holds back'({ send, exhaust }) {
      await exhaust()
      await Promise.all(times(40).map(() => send()))
    },
    'goes on with other animals until it is banned': ({ send, poll }) =>
      poll(send, 100, 0, another),
  },
  'reset.as-delta': {
    async 'waits for as many seconds as Reset says'({ connection, pass, exhaust }) {
      const send = connection()
      await exhaust(send)
      pass((await send()).reset)
      await send()
    },
    async 'waits for as many milliseconds as Reset says'({ connection, pass, exhaust }) {
      const send = connection()
      await exhaust(send)
      pass((await send()).reset / 1000)
      await send()
    },
  },
  'backoff.constant': {
    async 'retries every second until it succeeds'(api) {
      api.fail(503, { times: 5 })
      await retry(api, api.send, [1, 1, 1, 1, 1, 1])
    },
    async 'retries every second, gives up and does something else'(api) {
      api.fail(503, { times: 6 })
      await retry(api, api.connection(), [1, 1, 1, 1, 1])
      api.pass(60)
      await api.send({ body: ADA })
    },
    async 'retries every second after a 429 without Retry-After'(api) {
      api.fail(429, { times: 6 })
      await retry(api, api.connection(), [1, 1, 1, 1, 1, 1, 1])
    },
    async 'retries every second after responses that got lost'(api) {
      api.double.faults.arm({ kind: 'reset', times: 6 })
      await retry(api, api.send, [1, 1, 1, 1, 1, 1, 1])
    },
    async 'retries with pauses that shrink from 16 s to 1 s'(api) {
      api.fail(503, { times: 6 })
      await retry(api, api.connection(), [16, 8, 4, 2, 1])
    },
    async 'retries every 250 ms with 10 % jitter'(api) {
      api.fail(503, { times: 8 })
      const random = randomFrom(7)
      const pauses = times(8).map(() => 0.25 * (0.9 + 0.2 * random()))
      await retry(api, api.send, pauses)
    },
  },
  'deprecated.called': {
    async 'calls getPet'({ send, double }) {
      await double.seed([ADA])
      await send({ path: 'pets/1' })
    },
  },
  'key.refused': {
    'has no API key': ({ send }) => send({ key: null }),
    'has a mistyped API key': ({ send }) => send({ key: 'demo-fre' }),
  },
  'name.unknown': {
    'asks for a page': ({ send }) => send({ path: 'pets?page=2' }),
    'has another name for the status': ({ send }) => send({ body: { ...ADA, state: 'sold' } }),
  },
  'refusal.repeated': {
    'sends a wrong animal again and again': ({ send, poll }) => poll(send, 5, 0, WRONG),
    'backs off before it sends a wrong animal again': api =>
      retry(api, api.connection(), [0.3, 0.6, 1.2, 2.4], WRONG),
    'asks again and again for a path that does not exist': ({ send, poll }) =>
      poll(send, 6, 0, { path: 'orders' }),
  },
}

export const BAD_CLIENTS = Object.entries(CLIENTS).flatMap(([rule, clients]) =>
  Object.entries(clients).map(
    ([behaviour, client]) => [rule as RuleId, behaviour, client] as const,
  ),
)
