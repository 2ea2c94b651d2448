import { ADA, type Api, another, type Client, randomFrom, retry, times } from './api.js'
import { LIBRARIES } from './libraries.js'

const WRONG = { body: { name: 'Ada' } }

/** Each does what a client may do, and none of them gets a finding. */
export const GOOD_CLIENTS: Record<string, Client> = {
  ...LIBRARIES,
  async 'waits as long as Retry-After says'({ send, wait }) {
    await wait(send, 200)
  },
  async 'waits until Reset at Remaining 0'({ send, double }) {
    for (const _ of times(200)) {
      const { remaining, reset } = await send()
      if (remaining === 0) double.clock.set(reset * 1000)
    }
  },
  async 'retries at once after Retry-After: 0'({ connection, pass, fail }) {
    const send = connection()
    fail(429, { retryAfter: 0, times: 8 })
    while ((await send()).status === 429) pass(1)
  },
  async 'goes on with other requests while one has to wait'({ connection, wait, fail }) {
    const send = connection()
    fail(503, { retryAfter: 3600, operation: 'createPet' })
    await send({ body: ADA })
    await wait(send, 100)
  },
  async 'is three scripts at the same time that give up at 429'({ send, exhaust }) {
    await exhaust()
    await Promise.all(times(3).map(() => send()))
  },
  async 'has ten requests in flight on one connection, and then waits'(api) {
    const send = api.connection()
    await api.exhaust(send)
    const answers = await Promise.all(times(10).map(() => send()))
    api.pass(Math.max(...answers.map(({ retryAfter }) => retryAfter)))
    await send()
  },
  async 'has two requests in flight, of which one has to wait, and does'(api) {
    const senders = [api.connection(), api.connection()]
    api.fail(503, { retryAfter: 7 })
    await Promise.all(senders.map(send => send()))
    api.pass(7)
    await senders[0]?.()
  },
  async 'is two processes on connections of their own, of which one has to wait'(api) {
    const [one, other] = [api.connection(), api.connection()]
    for (const send of [one, other]) await send()
    api.fail(503, { retryAfter: 30 })
    await one()
    api.pass(10)
    await other()
    api.pass(20)
    await one()
  },
  async 'has six workers on a pool of four, each of which waits'({ pool, poll, pass, exhaust }) {
    const send = pool(4)
    await exhaust(send)
    await poll(send, 6, 5)
    pass(30)
    await poll(send, 6)
  },
  async 'never read the rejections, because they got lost'({ send, poll, exhaust, double }) {
    await exhaust()
    double.faults.arm({ kind: 'reset', times: 6 })
    await poll(send, 6)
  },
  async 'had ten requests in flight when the minute ended'({ send, pass, exhaust }) {
    await exhaust()
    await Promise.all(times(10).map(() => send()))
    pass(60)
    await Promise.all(times(10).map(() => send()))
  },
  async 'queues 18 calls on six connections, and gives up'({ connection, poll, exhaust }) {
    const senders = times(6).map(() => connection())
    await exhaust()
    await Promise.all(
      senders.map(async send => {
        await poll(send, 3)
      }),
    )
  },
  async 'starts 70 calls at once, which a queue spreads a little'({ send, pass }) {
    const pending = []
    for (const _ of times(70)) pending.push(await send())
    pass(60)
    for (const { status } of pending) if (status === 429) await send()
  },
  async 'takes turns on four connections, and drains its queue of equal calls'(api) {
    const send = api.pool(4)
    await api.exhaust(send)
    await api.poll(send, 16)
  },
  async 'shares its key with another, and both wait'({ send, poll, pass, exhaust }) {
    for (const _ of times(3)) {
      await exhaust()
      await poll(send, 2)
      pass(60)
    }
  },
  async 'is three processes that share a key, and all of them wait'({ send, poll, pass, exhaust }) {
    for (const _ of times(5)) {
      await exhaust()
      await poll(send, 3, 2)
      pass(54)
    }
    await poll(send, 3)
  },
  async 'is ten processes with a connection each, and all of them wait'(api) {
    const processes = times(10).map(() => api.connection())
    for (const _ of times(5)) {
      await api.exhaust(processes[0])
      for (const send of processes) {
        await send()
        api.pass(1)
      }
      api.pass(50)
    }
    for (const send of processes) await send()
  },
  async 'is ten processes of which one uses up the minute before the others are back'(api) {
    for (const _ of times(4)) {
      await api.exhaust()
      await api.poll(api.send, 10, 1)
      api.pass(50)
    }
    await api.poll(api.send, 10)
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
  async 'polls on one connection after calls in parallel, and waits at each 429'(api) {
    await Promise.all(times(2).map(() => api.connection()()))
    const send = api.connection()
    for (const _ of times(200)) {
      const { status, retryAfter } = await send()
      api.pass(status === 429 ? retryAfter : 0.8)
    }
  },
  async 'has six workers that share one kept connection, and all of them wait'(api) {
    await Promise.all(times(2).map(() => api.connection()()))
    const send = api.connection()
    for (const _ of times(3)) {
      await api.exhaust(send)
      await api.poll(send, 6, 5)
      api.pass(30 + 1)
      await api.poll(send, 6, 0.2)
    }
  },
  async 'is two scripts that never meet, of which one comes again at its next minute'(api) {
    api.fail(503, { retryAfter: 2 })
    const one = api.connection()
    await one()
    api.pass(1)
    await api.connection()()
    api.pass(59)
    await api.poll(one, 2, 61)
  },
  async 'comes back with half the wait of jitter, beside another that is served'(api) {
    await Promise.all(times(2).map(() => api.send()))
    for (const seed of times(6)) {
      const random = randomFrom(seed + 1)
      api.fail(503, { retryAfter: 20 })
      await api.send()
      api.pass(5)
      await api.send(another(seed))
      api.pass(15 + 10 * random())
      await api.send()
      api.pass(60)
    }
  },
  async 'is a page that loads six lists at once, of which one is rejected and comes again'(api) {
    const senders = times(6).map(() => api.connection())
    for (const _ of times(3)) {
      api.fail(429, { retryAfter: 4 })
      const load = (send: Api['send'], at: number) => send({ path: `pets?limit=${at + 1}` })
      const answers = await Promise.all(senders.map(load))
      api.pass(4)
      for (const [at, { status }] of answers.entries()) {
        if (status === 429) await load(senders[at] as Api['send'], at)
      }
    }
  },
  async 'is three workers that share a rate limiter, which waits once one of them is rejected'(
    api,
  ) {
    const workers = times(3).map(() => api.connection())
    for (const at of times(200)) {
      const { status, retryAfter } = await (workers[at % 3] as Api['send'])()
      api.pass(status === 429 ? retryAfter : 0.2)
    }
  },
  async 'retries a whole batch of creates after the longest of their waits'(api) {
    const batch = times(5).map(at => another(at))
    for (const retryAfter of [7, 3, 5]) api.fail(503, { retryAfter })
    const answers = await Promise.all(batch.map(call => api.send(call)))
    api.pass(7)
    for (const [at, { status }] of answers.entries()) if (status === 503) await api.send(batch[at])
  },
  async 'is two nightly jobs that share a day, and both come back at midnight'(api) {
    const limits = { perMinute: 9, perDay: 4 }
    api.double.addKey('small', { id: 'small', plan: 'enterprise', limits })
    const jobs = times(2).map(() => api.connection())
    for (const _ of times(3)) {
      await api.poll(jobs[0] as Api['send'], 4, 0, { key: 'small' })
      for (const job of jobs) {
        await job({ key: 'small', path: `pets?limit=${jobs.indexOf(job) + 1}` })
        api.pass(600)
      }
      api.pass(86_400 - 1_200)
    }
  },
  async 'reads a HEAD and then waits, and lists afterwards'({ connection, exhaust, pass }) {
    const send = connection()
    for (const _ of times(3)) {
      await exhaust(send)
      pass((await send({ method: 'HEAD' })).retryAfter)
      await send()
    }
  },
  async 'is four processes that come back in the opposite order, two seconds apart'(api) {
    const processes = times(4).map(() => api.connection())
    for (const _ of times(3)) {
      await api.exhaust(processes[0])
      for (const send of processes) {
        await send()
        api.pass(3)
      }
      api.pass(48)
      for (const send of processes.toReversed()) {
        await send()
        api.pass(2)
      }
      api.pass(120)
    }
  },
  async 'is two programs, of which one creates while the other waits for its list'(api) {
    api.fail(503, { retryAfter: 30, operation: 'listPets' })
    await api.send()
    for (const at of times(20)) {
      await api.send(another(at))
      api.pass(1.5)
    }
    await api.send()
  },
  async 'sends one request that it had prepared after two of its rejections'(api) {
    const send = api.connection()
    for (const at of times(2)) {
      await api.exhaust(send)
      const { retryAfter } = await send()
      await send(another(at))
      api.pass(retryAfter)
    }
  },
  async 'retries in real time, while the clock is frozen'({ send, poll, fail }) {
    fail(503, { times: 6 })
    await poll(send, 7)
  },
  async 'is two clients that share a key, and both back off'({ send, pass, fail }) {
    fail(503, { times: 10 })
    for (const at of times(6)) {
      await send()
      pass(0.3)
      await send()
      pass(2 ** at)
    }
  },
  async 'gives up on requests that hang after 30 s, with growing pauses'(api) {
    api.double.faults.arm({ kind: 'hang', times: 4 })
    const send = api.connection()
    for (const at of times(5)) {
      await send()
      api.pass(30 + 2 ** at)
    }
  },
  async 'tries a request whose response got lost again, some times'({ send, poll, double }) {
    for (const kind of ['reset', 'truncate', 'malformed'] as const) double.faults.arm({ kind })
    await poll(send, 4)
  },
  async 'polls at a fixed pace, through failures'({ connection, pass, fail }) {
    const send = connection()
    for (const at of times(12)) {
      if (at === 3) fail(503, { times: 6 })
      await send()
      pass(10)
    }
  },
  async 'polls at a fixed pace, and every poll fails'({ connection, poll, fail }) {
    const send = connection()
    fail(503, { times: 'always' })
    await poll(send, 12, 10)
  },
  async 'has the same wrong request in flight six times'({ send }) {
    await Promise.all(times(6).map(() => send(WRONG)))
  },
  async 'has the same failing request in flight eight times'({ send, fail, double }) {
    double.clock.resume()
    fail(503, { times: 8 })
    await Promise.all(times(8).map(() => send()))
    double.clock.freeze()
  },
  async 'makes the mistakes that a test of errors makes'({ send }) {
    const calls = [WRONG, { body: 'nonsense' }, { path: 'pets?limit=0' }, { path: 'nowhere' }]
    for (const call of calls) await send(call)
    await send({ method: 'DELETE' })
  },
  async 'never read that its animal is wrong, because the responses got lost'({ send, double }) {
    double.faults.arm({ kind: 'reset', times: 6 })
    for (const at of times(6)) {
      await send(WRONG)
      double.clock.advance(2 ** at * 1000)
    }
  },
}

/** Each does something else as well that is a finding of its own: it calls getPet. */
export const GOOD_CLIENTS_OF_GET_PET: Record<string, Client> = {
  async 'polls with growing pauses until an animal is created'(api) {
    const pauses = times(9).map(at => 2 ** at)
    await retry(api, api.connection(), pauses, { path: 'pets/1' })
  },
  async 'polls at a fixed pace until an animal is created'(api) {
    const pauses = times(9).map(() => 5)
    await retry(api, api.connection(), pauses, { path: 'pets/1' })
  },
  async 'gets 404, and 410 after the removal'({ connection, double }) {
    const send = connection()
    for (const _ of times(4)) await send({ path: 'pets/1' })
    double.clock.set('2030-12-05')
    for (const _ of times(4)) await send({ path: 'pets/1' })
  },
}
