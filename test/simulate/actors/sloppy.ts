import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'
import { bodyOf } from './pet-of.js'

/** It sends nothing at all while it would have to wait longer, unless that is its habit. */
const LONGEST_WAIT = 120_000

/**
 * A client with habits of its own, which sends one request at a time: it repeats what it should not, waits too
 * short, as long as it must, or for something else, and some of its requests are wrong.
 */
export function sloppy(context: ActorContext): Actor {
  const { random, clock, sleep, key, setting, hasIdempotency } = context
  const fetch = impatient(context)
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
  const pauses = [pick(PAUSES), pick(PAUSES), pick(PAUSES)]
  const habits = [pick(REQUESTS), pick(REQUESTS)]
  const oftenAgain = pick([0.1, 0.5, 0.9])
  let turn: Promise<void> = Promise.resolve()
  let reply = NO_REPLY
  let last: Sent = ['/pets']
  let count = 0
  let hasSlept = false

  return {
    act(call) {
      turn = turn.then(() => takeTurn(call))
      return turn
    },
  }

  async function takeTurn(call: CallPlan): Promise<void> {
    const authorization = `Bearer ${key()}`
    const pause = pick(pauses)
    const create = createOf(call)
    const isLong = LONG.includes(pause)
    const requests = pick([1, 3, 8])
    for (let sent = 0; sent < requests; sent++) {
      const ms = isLong && sent > 0 ? 0 : pauseBefore(pause)
      if (!isLong && ms > LONGEST_WAIT) return
      await sleep(ms)
      if (random() >= oftenAgain) last = create && random() < 0.5 ? create : pick(habits)(++count)
      reply = await send(last, authorization).catch(() => NO_REPLY)
    }
  }

  function pauseBefore(pause: Pause): number {
    const isNoLonger = pause === tooLong && (hasSlept || !reply.isExhausted)
    if (isNoLonger) return Math.min(reply.wait, LONGEST_WAIT)
    hasSlept ||= pause === tooLong
    return Math.max(0, pause(reply, clock() - setting.skew))
  }

  /** The same each time that it sends it. */
  function createOf(call: CallPlan): Sent | undefined {
    if (call.do !== 'create') return undefined
    const hasKey = hasIdempotency && random() < 0.5
    const key = `${setting.name.replace(' ', '-')}/${++count}`
    const headers = {
      'content-type': 'application/json',
      ...(hasKey && { 'idempotency-key': key }),
    }
    return ['/pets', { method: 'POST', headers, body: bodyOf(call.pet) }]
  }

  async function send([target, init = {}]: Sent, authorization: string): Promise<Reply> {
    const given = init.headers as Record<string, string>
    const headers = { authorization, ...given }
    const response = await fetch(BASE_URL + target, { ...init, headers })
    await response.text()
    const get = (name: string) => response.headers.get(name)
    return {
      wait: (Number(get('retry-after')) || 0) * 1_000,
      reset: Number(get('x-ratelimit-reset')) * 1_000,
      isExhausted: get('x-ratelimit-remaining') === '0',
    }
  }
}

/** A path below the base URL, and what `fetch` takes. */
type Sent = readonly [target: string, init?: RequestInit]

/** What it learns of one request: Retry-After in ms, and Reset in ms since the epoch. */
interface Reply {
  readonly wait: number
  readonly reset: number
  readonly isExhausted: boolean
}

/** None, or half of one. */
const NO_REPLY: Reply = { wait: 0, reset: Number.NaN, isExhausted: false }

/** How long it waits after a reply, in ms. @param now by the clock of the server */
type Pause = (reply: Reply, now: number) => number

/** Takes X-RateLimit-Reset for a number of milliseconds: three weeks. It does so once. */
const tooLong: Pause = ({ reset }) => reset / 1_000
/** Once in a turn; a refusal that comes again after more than an hour is another occasion. */
const LONG: readonly Pause[] = [tooLong, () => 3_600_000, () => 3_600_001]

const PAUSES: readonly Pause[] = [
  ...LONG,
  ...[() => 0, () => 0, () => 50, () => 150, () => 1_000],
  ({ wait }) => wait,
  ({ wait }) => wait - 98.5,
  ({ wait }) => wait - 101.5,
  ({ wait, reset, isExhausted }, now) => (isExhausted ? reset - now : wait),
  ({ wait, reset, isExhausted }, now) => (isExhausted ? reset - now - 101.5 : wait),
]

const STATUSES = ['available', 'pending', 'sold']
const INVENTED = { headers: { authorization: 'Bearer invented' } }

const REQUESTS: readonly ((count: number) => Sent)[] = [
  count => [`/pets?limit=${1 + (count % 100)}&status=${STATUSES[count % 3]}`],
  count => [`/pets?limit=${1 + (count % 100)}`],
  () => ['/pets'],
  () => ['/pets', INVENTED],
  () => ['/pets?pageSize=5'],
  () => ['/pets?after=5'],
  () => ['/pets?limit=0'],
  () => ['/pets', { method: 'PUT' }],
  () => ['/nope'],
  count => [`/pets/${count}`],
]
