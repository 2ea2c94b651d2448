import { createTestDouble, type RuleId, type TestDouble } from '../../adapters/test-double/index.js'

/** What a hand-written client has to work with: a double, its clock, and ways to send to it. */
export interface Api {
  readonly double: TestDouble
  /** On a connection of its own, as curl does. */
  readonly send: Send
  /** All of the calls on one connection that is kept alive. */
  connection(): Send
  /** One call at a time, each on the next of several open connections. */
  pool(size: number): Send
  pass(seconds: number): void
  /** Uses up the minute. */
  exhaust(send?: Send): Promise<void>
}

/** Lists pets unless told otherwise. A lost response has status 0. */
export type Send = (call?: Call) => Promise<Answer>

export interface Call {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  /** The header, in seconds. */
  readonly retryAfter: number
  readonly remaining: number
  readonly reset: number
  readonly code: string | undefined
}

export type Client = (api: Api) => Promise<unknown>

export function createApi(double: TestDouble): Api {
  const send: Send = async call => {
    const { path = 'pets', ...init } = initOf(call)
    const response = await double.fetch(path, init).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (!response || text === undefined) return LOST
    return answerOf(response.status, Object.fromEntries(response.headers), text)
  }
  const connection = (): Send => {
    const connection = double.connect()
    return async call => {
      const { path = 'pets', ...init } = initOf(call)
      const [pathname = '', query = ''] = path.split('?')
      const response = await double.handle({
        ...init,
        path: `${double.basePath}/${pathname}`,
        query,
        connection,
      })
      const headers = Object.entries(response.headers).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ])
      return answerOf(response.status, Object.fromEntries(headers), response.body)
    }
  }

  return {
    double,
    send,
    connection,
    pool(size) {
      const connections = Array.from({ length: size }, connection)
      let calls = 0
      return call => (connections[calls++ % size] as Send)(call)
    },
    pass: seconds => double.clock.advance(seconds * 1000),
    async exhaust(by = send) {
      while ((await by()).remaining > 0);
    },
  }
}

const LOST: Answer = { status: 0, retryAfter: 0, remaining: 0, reset: 0, code: undefined }

function initOf({ method, path, body, key = 'demo-free', headers }: Call = {}) {
  const content = body === undefined ? undefined : JSON.stringify(body)
  return {
    method: method ?? (content === undefined ? 'GET' : 'POST'),
    ...(path !== undefined && { path }),
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
  }
}

function answerOf(status: number, headers: Record<string, string>, body: string): Answer {
  const number = (name: string) => Number(headers[name])
  return {
    status,
    retryAfter: number('retry-after'),
    remaining: number('x-ratelimit-remaining'),
    reset: number('x-ratelimit-reset'),
    code: status < 400 ? undefined : /"code":"(\w+)"/.exec(body)?.[1],
  }
}

const ADA = { name: 'Ada', categoryId: 1 }
const times = (count: number) => Array.from({ length: count }, (_, at) => at)

/** The same numbers for the same seed (Park and Miller). */
export function randomFrom(seed: number): () => number {
  let state = seed * 7_919
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Repeats a failing call after these pauses, in seconds. */
async function retry({ pass }: Api, send: Send, pauses: readonly number[], call?: Call) {
  for (const pause of pauses) {
    const { status } = await send(call)
    if (status > 0 && status < 400) return
    pass(pause)
  }
  await send(call)
}

/** Each does what a client may do, and none of them gets a finding. */
export const GOOD_CLIENTS: Record<string, Client> = {
  async 'waits as long as Retry-After says'({ send, pass }) {
    for (const _ of times(200)) {
      const { status, retryAfter } = await send()
      if (status === 429) pass(retryAfter)
    }
  },
  async 'waits on its one connection'({ connection, pass }) {
    const send = connection()
    for (const _ of times(200)) {
      const { status, retryAfter } = await send()
      if (status === 429) pass(retryAfter)
    }
  },
  async 'waits until Reset at Remaining 0'({ send, double }) {
    for (const _ of times(200)) {
      const { remaining, reset } = await send()
      if (remaining === 0) double.clock.set(reset * 1000)
    }
  },
  async 'waits until Reset, although Retry-After ends a part of a second later'({
    connection,
    pass,
    exhaust,
    double,
  }) {
    const send = connection()
    pass(0.5)
    await exhaust(send)
    double.clock.set((await send()).reset * 1000)
    for (const _ of times(3)) await send()
  },
  async 'waits until an HTTP-date'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 429, retryAfter: { date: 20 } })
    await send()
    pass(20)
    await send()
  },
  async 'waits through 503 with Retry-After'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 7, times: 5 })
    for (const _ of times(6)) {
      const { status, retryAfter } = await send()
      if (status === 503) pass(retryAfter)
    }
  },
  async 'waits for the next day'({ connection, pass, double }) {
    double.addKey('small', { id: 'small', plan: 'enterprise', limits: { perMinute: 9, perDay: 3 } })
    const send = connection()
    for (const _ of times(12)) {
      const { status, retryAfter } = await send({ key: 'small' })
      if (status === 429) pass(retryAfter)
    }
  },
  async 'retries at once after Retry-After: 0'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 429, retryAfter: 0, times: 8 })
    while ((await send()).status === 429) pass(1)
  },
  async 'retries after a Retry-After that is past'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 503, retryAfter: { date: -60 }, times: 8 })
    while ((await send()).status === 503) pass(1)
  },
  async 'goes on with other requests while one has to wait'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 3600, operation: 'createPet' })
    await send({ body: ADA })
    for (const _ of times(100)) {
      const { status, retryAfter } = await send()
      if (status === 429) pass(retryAfter)
    }
  },
  async 'gives up at the first 429'({ connection, exhaust }) {
    const send = connection()
    await exhaust(send)
    await send()
  },
  async 'wakes up a few milliseconds too early, as timers do'({ connection, pass, exhaust }) {
    const send = connection()
    await exhaust(send)
    pass((await send()).retryAfter - 0.05)
    await send()
  },
  async 'is three scripts at the same time that give up at 429'({ send, exhaust }) {
    await exhaust()
    await Promise.all(times(3).map(() => send()))
  },
  async 'has ten requests in flight on one connection, and then waits'({
    connection,
    pass,
    exhaust,
  }) {
    const send = connection()
    await exhaust(send)
    const answers = await Promise.all(times(10).map(() => send()))
    pass(Math.max(...answers.map(({ retryAfter }) => retryAfter)))
    await send()
  },
  async 'has other requests in flight on one connection, and gives up'({ connection, exhaust }) {
    const send = connection()
    await exhaust(send)
    await Promise.all(times(10).map(at => send({ path: `pets?limit=${at + 1}` })))
  },
  async 'has two requests in flight, of which one has to wait, and does'({
    connection,
    pass,
    double,
  }) {
    const senders = [connection(), connection()]
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 7 })
    await Promise.all(senders.map(send => send()))
    pass(7)
    await senders[0]?.()
  },
  async 'has two requests in flight, of which one has to wait, and gives up'({ send, double }) {
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 7 })
    await Promise.all(times(2).map(() => send()))
  },
  async 'waits through 503 with a connection each time'({ send, pass, double }) {
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 7, times: 2 })
    for (const _ of times(3)) {
      const { status, retryAfter } = await send()
      if (status === 503) pass(retryAfter)
    }
  },
  async 'is two processes on connections of their own, of which one has to wait'({
    connection,
    pass,
    double,
  }) {
    const [one, other] = [connection(), connection()]
    for (const send of [one, other]) await send()
    double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
    await one()
    pass(10)
    await other()
    pass(20)
    await one()
  },
  async 'has six workers on a pool of four, each of which waits'({ pool, pass, exhaust }) {
    const send = pool(4)
    await exhaust(send)
    for (const _ of times(6)) {
      await send()
      pass(5)
    }
    pass(30)
    for (const _ of times(6)) await send()
  },
  async 'never read the rejections, because they got lost'({ send, double, exhaust }) {
    await exhaust()
    double.faults.arm({ kind: 'reset', times: 6 })
    for (const _ of times(6)) await send()
  },
  async 'had ten requests in flight when the minute ended'({ send, pass, exhaust }) {
    await exhaust()
    await Promise.all(times(10).map(() => send()))
    pass(60)
    await Promise.all(times(10).map(() => send()))
  },
  async 'had 21 requests in flight on Business'({ send, pass }) {
    const call = { key: 'demo-business' }
    for (const _ of times(1000)) await send(call)
    await Promise.all(times(21).map(() => send(call)))
    pass(60)
    await Promise.all(times(21).map(() => send(call)))
  },
  async 'queues 18 calls on six connections, and gives up'({ connection, exhaust }) {
    const senders = times(6).map(() => connection())
    await exhaust()
    await Promise.all(
      senders.map(async send => {
        for (const _ of times(3)) await send()
      }),
    )
  },
  async 'starts 70 calls at once, which a queue spreads a little'({ send, pass }) {
    const pending = []
    for (const _ of times(70)) pending.push(await send())
    pass(60)
    for (const { status } of pending) if (status === 429) await send()
  },
  async 'takes turns on four connections, and drains its queue of equal calls'({ pool, exhaust }) {
    const send = pool(4)
    await exhaust(send)
    for (const _ of times(16)) await send()
  },
  async 'has four workers on a pool of four, each of which waits'({ pool, pass, exhaust }) {
    const send = pool(4)
    await exhaust(send)
    for (const _ of times(4)) {
      await send()
      pass(5)
    }
    pass(40)
    for (const _ of times(4)) await send()
  },
  async 'has two workers on one pool, and both wait'({ connection, pass, exhaust }) {
    const [one, other] = [connection(), connection()]
    await Promise.all([one(), other()])
    await exhaust(one)
    for (const _ of times(2)) {
      await one()
      pass(5)
    }
    pass(50)
    for (const _ of times(2)) await one()
  },
  async 'shares its key with another, and both wait'({ send, pass, exhaust }) {
    for (const _ of times(3)) {
      await exhaust()
      for (const _ of times(2)) await send()
      pass(60)
    }
  },
  async 'is three processes that share a key, and all of them wait'({ send, pass, exhaust }) {
    for (const _ of times(5)) {
      await exhaust()
      for (const _ of times(3)) {
        await send()
        pass(2)
      }
      pass(54)
    }
    for (const _ of times(3)) await send()
  },
  async 'is ten processes with a connection each, and all of them wait'({
    connection,
    pass,
    exhaust,
  }) {
    const processes = times(10).map(() => connection())
    for (const _ of times(5)) {
      await exhaust(processes[0])
      for (const send of processes) {
        await send()
        pass(1)
      }
      pass(50)
    }
    for (const send of processes) await send()
  },
  async 'is ten processes of which one uses up the minute before the others are back'({
    send,
    pass,
    exhaust,
  }) {
    for (const _ of times(4)) {
      await exhaust()
      for (const _ of times(10)) {
        await send()
        pass(1)
      }
      pass(50)
    }
    for (const _ of times(10)) await send()
  },
  async 'is three processes with work of their own, and all of them wait'({ send, pass, exhaust }) {
    for (const minute of times(3)) {
      await exhaust()
      const calls = times(3).map(at => ({ body: { name: 'Ada', categoryId: minute * 3 + at } }))
      for (const call of calls) await send(call)
      pass(60)
      for (const call of calls) await send(call)
    }
  },
  async 'is three processes that drop what is rejected, and wait'({ send, pass, exhaust }) {
    for (const minute of times(4)) {
      await exhaust()
      for (const at of times(3)) await send({ body: { name: 'Ada', categoryId: minute * 3 + at } })
      pass(60)
      for (const at of times(3)) await send({ path: `pets?limit=${at + 1}` })
    }
  },
  async 'meets a ban that it did not cause'({ connection, pass, double }) {
    const elsewhere = createApi(createTestDouble())
    while ((await elsewhere.send()).code !== 'api_key_banned');
    elsewhere.double.clearRequests()
    await double.restore(await elsewhere.double.snapshot())
    const send = connection()
    pass((await send()).retryAfter)
    await send()
  },
  async 'retries three times with growing pauses'(api) {
    api.double.faults.arm({ kind: 'status', status: 503, times: 3 })
    await retry(api, api.connection(), [1, 2, 4])
  },
  async 'retries for long, with pauses up to a minute'(api) {
    api.double.faults.arm({ kind: 'status', status: 500, times: 30 })
    await retry(
      api,
      api.connection(),
      times(30).map(at => Math.min(2 ** at, 60)),
    )
  },
  async 'retries with full jitter'(api) {
    for (const seed of times(40)) {
      const random = randomFrom(seed + 1)
      api.double.faults.arm({ kind: 'status', status: 503, times: 7 })
      await retry(
        api,
        api.send,
        times(8).map(at => random() * 2 ** at),
      )
      api.pass(3600)
    }
  },
  async 'retries with equal jitter and a limit'(api) {
    for (const seed of times(40)) {
      const random = randomFrom(seed + 1)
      api.double.faults.arm({ kind: 'status', status: 503, times: 12 })
      await retry(
        api,
        api.send,
        times(12).map(at => (1 + random()) * Math.min(2 ** at, 16)),
      )
      api.pass(3600)
    }
  },
  async 'retries with linear pauses'(api) {
    api.double.faults.arm({ kind: 'status', status: 503, times: 8 })
    await retry(api, api.connection(), [1, 2, 3, 4, 5, 6, 7, 8])
  },
  async 'retries three times with pauses that are equal by chance'(api) {
    api.double.faults.arm({ kind: 'status', status: 503, times: 3 })
    await retry(api, api.connection(), [1, 1, 1])
  },
  async 'retries in real time, while the clock is frozen'({ send, double }) {
    double.faults.arm({ kind: 'status', status: 503, times: 6 })
    for (const _ of times(7)) await send()
  },
  async 'is two clients that share a key, and both back off'({ send, pass, double }) {
    double.faults.arm({ kind: 'status', status: 503, times: 10 })
    for (const at of times(6)) {
      await send()
      pass(0.3)
      await send()
      pass(2 ** at)
    }
  },
  async 'gives up on requests that hang after 30 s, with growing pauses'({
    connection,
    pass,
    double,
  }) {
    double.faults.arm({ kind: 'hang', times: 4 })
    const send = connection()
    for (const at of times(5)) {
      await send()
      pass(30 + 2 ** at)
    }
  },
  async 'tries a request whose response got lost again, some times'({ send, double }) {
    for (const kind of ['reset', 'truncate', 'malformed'] as const) double.faults.arm({ kind })
    for (const _ of times(4)) await send()
  },
  async 'polls at a fixed pace, through failures'({ connection, pass, double }) {
    const send = connection()
    for (const at of times(12)) {
      if (at === 3) double.faults.arm({ kind: 'status', status: 503, times: 6 })
      await send()
      pass(10)
    }
  },
  async 'polls at a fixed pace, and the first polls fail'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 503, times: 6 })
    for (const _ of times(12)) {
      await send()
      pass(10)
    }
  },
  async 'polls at a fixed pace, an hour after another call'({ connection, pass, double }) {
    const send = connection()
    await send()
    pass(3600)
    double.faults.arm({ kind: 'status', status: 503, times: 6 })
    for (const _ of times(12)) {
      await send()
      pass(10)
    }
  },
  async 'polls at a fixed pace, and every poll fails'({ connection, pass, double }) {
    const send = connection()
    double.faults.arm({ kind: 'status', status: 503, times: 'always' })
    for (const _ of times(12)) {
      await send()
      pass(10)
    }
  },
  async 'has the same wrong request in flight six times'({ send }) {
    await Promise.all(times(6).map(() => send({ body: { name: 'Ada' } })))
  },
  async 'has the same failing request in flight eight times'({ send, double }) {
    double.clock.resume()
    double.faults.arm({ kind: 'status', status: 503, times: 8 })
    await Promise.all(times(8).map(() => send()))
    double.clock.freeze()
  },
  async 'makes the mistakes that a test of errors makes'({ send }) {
    const calls = [
      { body: { name: 'Ada' } },
      { body: 'nonsense' },
      { path: 'pets?limit=0' },
      { path: 'nowhere' },
    ]
    for (const call of calls) await send(call)
    await send({ method: 'DELETE' })
  },
  async 'sends the same wrong animal once a day, and good ones in between'({ connection, pass }) {
    const send = connection()
    for (const _ of times(8)) {
      await send({ body: { name: 'Ada' } })
      await send({ body: ADA })
      pass(86_400)
    }
  },
  async 'sends the same wrong animal once a day'({ connection, pass }) {
    const send = connection()
    for (const _ of times(8)) {
      await send({ body: { name: 'Ada' } })
      pass(86_400)
    }
  },
  async 'never read that its animal is wrong, because the responses got lost'({ send, double }) {
    double.faults.arm({ kind: 'reset', times: 6 })
    for (const at of times(6)) {
      await send({ body: { name: 'Ada' } })
      double.clock.advance(2 ** at * 1000)
    }
  },
}

/** Each does something else as well that is a finding of its own: it calls getPet. */
export const GOOD_CLIENTS_OF_GET_PET: Record<string, Client> = {
  async 'polls with growing pauses until an animal is created'(api) {
    await retry(
      api,
      api.connection(),
      times(9).map(at => 2 ** at),
      { path: 'pets/1' },
    )
  },
  async 'polls at a fixed pace until an animal is created'(api) {
    await retry(
      api,
      api.connection(),
      times(9).map(() => 5),
      { path: 'pets/1' },
    )
  },
  async 'gets 404, and 410 after the removal'({ connection, double }) {
    const send = connection()
    for (const _ of times(4)) await send({ path: 'pets/1' })
    double.clock.set('2030-12-05')
    for (const _ of times(4)) await send({ path: 'pets/1' })
  },
}

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
