import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'

/** A path below the base URL, and what `fetch` takes. */
export type Sent = readonly [target: string, init?: RequestInit]

/** What a client learns of one request. */
export interface Reply {
  /** Undefined when there was no response, or half of one. */
  readonly status: number | undefined
  /** That of a response whose body was cut off. */
  readonly cutStatus: number | undefined
  /** It gave up, and so did not learn that the connection was gone. */
  readonly isLate: boolean
  readonly code: string | undefined
  /** Retry-After, in ms. */
  readonly wait: number
  /** In seconds since the epoch. */
  readonly reset: number
  readonly isExhausted: boolean
  /** By the clock of the server, in ms since the epoch. */
  readonly date: number
}

/** Sends with the key that was valid when its turn began. */
export interface OneByOne {
  /** A request that it has not sent lately. */
  next(): Sent
  send(request: Sent): Promise<Reply>
  pause(ms: number): Promise<void>
}

/** Does one thing. Resolves with whether the rule is broken; undefined where nobody can be sure. */
export type BreakRule = (client: OneByOne, call: CallPlan) => Promise<boolean | undefined>

/** It sends nothing at all while it would have to wait longer. */
const LONGEST_WAIT = 120_000

/**
 * A client that sends one request at a time and waits out every Retry-After, but for one rule that it
 * breaks: the verdict has to find that, and nothing else.
 */
export function ruleBreaker(context: ActorContext, breakRule: BreakRule): Actor {
  const { clock, sleep, key } = context
  const fetch = impatient(context)
  let last: Promise<unknown> = Promise.resolve()
  let opensAt = Number.NEGATIVE_INFINITY
  let requests = 0
  let broke: boolean | undefined = false

  return {
    act(call) {
      const turn = last.then(() => takeTurn(call))
      last = turn.catch(() => {})
      return turn
    },
    broke: () => broke,
  }

  async function takeTurn(call: CallPlan): Promise<void> {
    const wait = opensAt - clock()
    if (wait > LONGEST_WAIT) return
    await sleep(Math.max(0, wait))
    const authorization = `Bearer ${key()}`
    const client = { next, send: (request: Sent) => send(request, authorization), pause: sleep }
    const now = await breakRule(client, call)
    broke = broke || now === true || (now === undefined ? undefined : broke)
  }

  function next(): Sent {
    const number = ++requests
    return [`/pets?limit=${1 + (number % 100)}&status=${STATUSES[number % 3]}`]
  }

  async function send([target, init = {}]: Sent, authorization: string): Promise<Reply> {
    let response: Response | undefined
    try {
      response = await fetch(BASE_URL + target, {
        ...init,
        headers: { authorization, ...(init.headers as Record<string, string>) },
      })
      const { status } = response
      // The head of a rejection says when to come again, whatever becomes of its body.
      const text = await response.text().catch(lost => {
        if (status !== 429) throw lost
        return '{}'
      })
      const reply = readReply(response, text)
      opensAt = Math.max(opensAt, clock() + reply.wait)
      return reply
    } catch (error) {
      const isLate = (error as Error).message === 'No answer'
      return { ...NO_REPLY, isLate, cutStatus: response?.status }
    }
  }
}

const MOST_UNTIL_REJECTED = 10

/** Sends one request after the other until one is rejected or lost, or these were enough. */
export async function untilRejected(client: OneByOne): Promise<Reply & { readonly request: Sent }> {
  for (let requests = 1; ; requests++) {
    const request = client.next()
    const reply = await client.send(request)
    const isOver = reply.status === undefined || reply.status === 429
    if (isOver || requests === MOST_UNTIL_REJECTED) return { ...reply, request }
  }
}

const STATUSES = ['available', 'pending', 'sold']

const NO_REPLY: Reply = {
  status: undefined,
  cutStatus: undefined,
  isLate: false,
  code: undefined,
  wait: 0,
  reset: Number.NaN,
  isExhausted: false,
  date: Number.NaN,
}

function readReply({ status, headers }: Response, text: string): Reply {
  const isExhausted = headers.get('x-ratelimit-remaining') === '0'
  const reset = Number(headers.get('x-ratelimit-reset'))
  const date = Date.parse(headers.get('date') ?? '')
  return {
    ...NO_REPLY,
    status,
    code: status < 400 ? undefined : (JSON.parse(text) as { code?: string }).code,
    wait: Number(headers.get('retry-after')) * 1_000,
    reset,
    isExhausted,
    date,
  }
}
