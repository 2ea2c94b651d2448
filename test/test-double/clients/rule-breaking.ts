import type { RuleId } from '../../../adapters/test-double/index.js'
import { ADA, type Client, retry, times } from './api.js'

/** Each breaks one rule, and no other. */
export const BAD_CLIENTS: readonly (readonly [rule: RuleId, behaviour: string, client: Client])[] =
  [
    [
      'retry-after.early',
      'retries every second over a pool of four connections',
      async ({ pool, pass, exhaust }) => {
        const send = pool(4)
        await exhaust(send)
        for (const _ of times(16)) {
          await send()
          pass(1)
        }
      },
    ],
    [
      'retry-after.early',
      'retries at once on its connection',
      async ({ connection, exhaust }) => {
        const send = connection()
        await exhaust(send)
        for (const _ of times(4)) await send()
      },
    ],
    [
      'retry-after.early',
      'retries once, 1.2 s after Retry-After: 3',
      async ({ connection, pass, double }) => {
        const send = connection()
        double.faults.arm({ kind: 'status', status: 429, retryAfter: 3 })
        await send()
        pass(1.2)
        for (const _ of times(3)) await send()
      },
    ],
    [
      'retry-after.early',
      'retries every five seconds',
      async ({ send, pass, exhaust }) => {
        await exhaust()
        for (const _ of times(4)) {
          await send()
          pass(5)
        }
      },
    ],
    [
      'retry-after.early',
      'retries early once in each of ten waits',
      async ({ connection, pass, exhaust }) => {
        const send = connection()
        for (const _ of times(10)) {
          await exhaust(send)
          await send()
          pass(10)
          await send()
          pass(50)
        }
      },
    ],
    [
      'retry-after.early',
      'has a new User-Agent for every request',
      async ({ send, exhaust }) => {
        await exhaust()
        for (const at of times(8)) await send({ headers: { 'user-agent': `client/${at}` } })
      },
    ],
    [
      'retry-after.early',
      'has a new User-Agent for every request, on its connection',
      async ({ connection, exhaust }) => {
        const send = connection()
        await exhaust(send)
        for (const at of times(3)) await send({ headers: { 'user-agent': `client/${at}` } })
      },
    ],
    [
      'retry-after.early',
      'is curl in a loop',
      async ({ send }) => {
        for (const _ of times(90)) await send()
      },
    ],
    [
      'retry-after.early',
      'takes Retry-After for milliseconds',
      async ({ connection, pass }) => {
        const send = connection()
        for (const _ of times(64)) {
          const { status, retryAfter } = await send()
          if (status === 429) pass(retryAfter / 1000)
        }
      },
    ],
    [
      'retry-after.early',
      'backs off exponentially, whatever Retry-After says',
      async api => {
        const send = api.connection()
        await api.exhaust(send)
        await retry(api, send, [1, 2, 4, 8, 16, 32])
      },
    ],
    [
      'retry-after.early',
      'backs off exponentially, with a connection each time',
      async api => {
        await api.exhaust()
        await retry(api, api.send, [1, 2, 4, 8, 16, 32])
      },
    ],
    [
      'retry-after.early',
      'retries a 503 at once, with a connection each time, and succeeds',
      async ({ send, double }) => {
        double.faults.arm({ kind: 'status', status: 503, retryAfter: 2 })
        for (const _ of times(2)) await send()
      },
    ],
    [
      'retry-after.early',
      'retries a 503 at once, succeeds, and goes on for an hour',
      async ({ send, pass, double }) => {
        double.faults.arm({ kind: 'status', status: 503, retryAfter: 2 })
        for (const _ of times(2)) await send()
        for (const _ of times(60)) {
          pass(60)
          await send()
        }
      },
    ],
    [
      'retry-after.early',
      'retries two 429s at once, and succeeds',
      async ({ send, double }) => {
        double.faults.arm({ kind: 'status', status: 429, retryAfter: 30, times: 2 })
        for (const _ of times(3)) await send()
      },
    ],
    [
      'retry-after.early',
      'retries at once over two connections that take turns',
      async ({ connection, double }) => {
        const one = connection()
        await one()
        const other = connection()
        for (const send of [other, one, other]) await send()
        double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
        for (const send of [one, other]) await send()
      },
    ],
    [
      'retry-after.early',
      'retries once at the end of the minute, half a minute too early',
      async ({ send, pass, exhaust }) => {
        await exhaust()
        await send()
        pass(30)
        await send()
      },
    ],
    [
      'retry-after.early',
      'opens a connection for each attempt, and keeps it',
      async ({ connection, pass, double }) => {
        double.faults.arm({ kind: 'status', status: 429, retryAfter: 90, times: 7 })
        for (const pause of [0.5, 1, 2, 4, 4, 4, 0]) {
          await connection()()
          pass(pause)
        }
      },
    ],
    [
      'retry-after.early',
      'does so after it had requests in flight at the same time',
      async ({ connection, pass, double }) => {
        await Promise.all(times(4).map(() => connection()()))
        double.faults.arm({ kind: 'status', status: 429, retryAfter: 90, times: 7 })
        for (const pause of [0.5, 1, 2, 4, 4, 4, 0]) {
          await connection()()
          pass(pause)
        }
      },
    ],
    [
      'retry-after.early',
      'retries twelve times at once, on a connection each that it never closes',
      async ({ connection, double }) => {
        double.faults.arm({ kind: 'status', status: 429, retryAfter: 60, times: 12 })
        for (const _ of times(13)) await connection()()
      },
    ],
    [
      'retry-after.early',
      'retries a 503 before its Retry-After',
      async ({ connection, pass, double }) => {
        const send = connection()
        double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
        await send({ body: ADA })
        pass(1)
        await send({ body: ADA })
      },
    ],
    [
      'retry-after.early',
      'ignores an HTTP-date',
      async ({ connection, pass, double }) => {
        const send = connection()
        double.faults.arm({ kind: 'status', status: 429, retryAfter: { date: 60 }, times: 2 })
        for (const _ of times(3)) {
          await send()
          pass(1)
        }
      },
    ],
    [
      'retry-after.early',
      'wakes up a second too early',
      async ({ connection, pass, exhaust }) => {
        const send = connection()
        await exhaust(send)
        pass((await send()).retryAfter - 1)
        await send()
      },
    ],
    [
      'retry-after.early',
      'polls through the wait at its own pace',
      async ({ connection, pass }) => {
        const send = connection()
        for (const _ of times(160)) {
          await send()
          pass(0.7)
        }
      },
    ],
    [
      'retry-after.early',
      'polls every minute after the day is used up',
      async ({ connection, pass, double }) => {
        double.addKey('small', {
          id: 'small',
          plan: 'enterprise',
          limits: { perMinute: 9, perDay: 5 },
        })
        const send = connection()
        for (const _ of times(9)) {
          await send({ key: 'small' })
          pass(60)
        }
      },
    ],
    [
      'retry-after.early',
      'has six workers that retry every second',
      async ({ send, pass, exhaust }) => {
        await exhaust()
        for (const _ of times(4)) {
          await Promise.all(times(6).map(() => send()))
          pass(1)
        }
      },
    ],
    [
      'remaining.ignored',
      'goes on with other animals, with a connection each time',
      async ({ send }) => {
        for (const at of times(64)) await send({ body: { name: 'Ada', categoryId: at } })
      },
    ],
    [
      'remaining.ignored',
      'goes on with two other animals, with a connection each time',
      async ({ send, exhaust }) => {
        await exhaust()
        for (const at of times(3)) await send({ body: { name: 'Ada', categoryId: at } })
      },
    ],
    [
      'remaining.ignored',
      'goes on with other animals on its connection',
      async ({ connection, exhaust }) => {
        const send = connection()
        await exhaust(send)
        for (const at of times(3)) await send({ body: { name: 'Ada', categoryId: at } })
      },
    ],
    [
      'ban.risked',
      'retries at once until it is banned',
      async ({ send, exhaust }) => {
        await exhaust()
        while ((await send()).code !== 'api_key_banned');
      },
    ],
    [
      'ban.risked',
      'goes on after it is banned',
      async ({ connection, exhaust, pass }) => {
        const send = connection()
        await exhaust(send)
        for (const _ of times(60)) {
          await send()
          pass(0.1)
        }
      },
    ],
    [
      'ban.risked',
      'has 40 requests in flight that nothing holds back',
      async ({ send, exhaust }) => {
        await exhaust()
        await Promise.all(times(40).map(() => send()))
      },
    ],
    [
      'ban.risked',
      'goes on with other animals until it is banned',
      async ({ send }) => {
        for (const at of times(100)) await send({ body: { name: 'Ada', categoryId: at } })
      },
    ],
    [
      'reset.as-delta',
      'waits for as many seconds as Reset says',
      async ({ connection, pass, exhaust }) => {
        const send = connection()
        await exhaust(send)
        pass((await send()).reset)
        await send()
      },
    ],
    [
      'reset.as-delta',
      'waits for as many milliseconds as Reset says',
      async ({ connection, pass, exhaust }) => {
        const send = connection()
        await exhaust(send)
        pass((await send()).reset / 1000)
        await send()
      },
    ],
    [
      'backoff.constant',
      'retries every second until it succeeds',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 503, times: 5 })
        await retry(api, api.send, [1, 1, 1, 1, 1, 1])
      },
    ],
    [
      'backoff.constant',
      'retries every second, gives up and does something else',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 503, times: 6 })
        await retry(api, api.connection(), [1, 1, 1, 1, 1])
        api.pass(60)
        await api.send({ body: ADA })
      },
    ],
    [
      'backoff.constant',
      'retries every second after a 429 without Retry-After',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 429, times: 6 })
        await retry(api, api.connection(), [1, 1, 1, 1, 1, 1, 1])
      },
    ],
    [
      'backoff.constant',
      'retries every second after responses that got lost',
      async api => {
        api.double.faults.arm({ kind: 'reset', times: 6 })
        await retry(api, api.send, [1, 1, 1, 1, 1, 1, 1])
      },
    ],
    [
      'backoff.constant',
      'retries at once, as fast as it can',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 503, times: 9 })
        await retry(
          api,
          api.connection(),
          times(10).map(at => (1 + (at % 2)) / 1000),
        )
      },
    ],
    [
      'backoff.constant',
      'retries with pauses that shrink from 16 s to 1 s',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 503, times: 6 })
        await retry(api, api.connection(), [16, 8, 4, 2, 1])
      },
    ],
    [
      'backoff.constant',
      'retries with pauses that jitter around one second',
      async api => {
        api.double.faults.arm({ kind: 'status', status: 503, times: 9 })
        await retry(api, api.connection(), [0.8, 1.2, 0.7, 1.4, 0.9, 1.1, 0.6, 1.3, 1])
      },
    ],
    [
      'deprecated.called',
      'calls getPet',
      async ({ send, double }) => {
        await double.seed([ADA])
        await send({ path: 'pets/1' })
      },
    ],
    ['key.refused', 'has no API key', ({ send }) => send({ key: null })],
    ['key.refused', 'has a mistyped API key', ({ send }) => send({ key: 'demo-fre' })],
    ['name.unknown', 'asks for a page', ({ send }) => send({ path: 'pets?page=2' })],
    [
      'name.unknown',
      'has another name for the status',
      ({ send }) => send({ body: { ...ADA, state: 'sold' } }),
    ],
    [
      'refusal.repeated',
      'sends a wrong animal again and again',
      async ({ send }) => {
        for (const _ of times(5)) await send({ body: { name: 'Ada' } })
      },
    ],
    [
      'refusal.repeated',
      'backs off before it sends a wrong animal again',
      async api => {
        await retry(api, api.connection(), [1, 2, 4, 8, 16], { body: { name: 'Ada' } })
      },
    ],
    [
      'refusal.repeated',
      'deletes again and again what cannot be deleted',
      async ({ connection }) => {
        const send = connection()
        for (const _ of times(6)) await send({ method: 'DELETE' })
      },
    ],
    [
      'refusal.repeated',
      'asks again and again for a path that does not exist',
      async ({ send }) => {
        for (const _ of times(6)) await send({ path: 'orders' })
      },
    ],
  ]
