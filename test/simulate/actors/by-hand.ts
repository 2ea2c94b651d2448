import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

const MOST_ATTEMPTS = 5
const LONGEST_WAIT = 120_000

/** A careful client written by hand: it sends one request at a time, and waits as long as it is asked to. */
export function byHand(context: ActorContext): Actor {
  const { setting, sleep, random, key, hasIdempotency } = context
  const fetch = impatient(context)
  let last: Promise<unknown> = Promise.resolve()
  let creates = 0
  let wait = 0

  return {
    act(call) {
      const turn = last.then(() => attempt(call, `${setting.name.replace(' ', '-')}-${++creates}`))
      last = turn.catch(() => {})
      return turn
    },
  }

  async function attempt(call: CallPlan, name: string): Promise<string> {
    for (let attempts = 1; ; attempts++) {
      if (wait > LONGEST_WAIT) throw giveUp(wait)
      await sleep(wait)
      wait = 0
      const answer = await send(call, name)
      const backoff = 1_000 * 2 ** attempts + Math.floor(random() * 1_000)
      if (answer === undefined) {
        if (call.do === 'create' && !hasIdempotency) throw new Error('The answer is lost')
        wait = backoff
      } else {
        const { status, retryAfter, isExhausted, untilReset } = answer
        // A 503 says when the storage may be back, which may be before the next window.
        wait = Math.max(retryAfter ?? 0, isExhausted ? untilReset : 0)
        if (status < 429) return answer.text
        if (status >= 500 && call.do === 'create' && !hasIdempotency) throw new Error(answer.text)
        wait = Math.max(wait, status === 429 ? 0 : backoff)
      }
      if (attempts === MOST_ATTEMPTS) throw giveUp(wait)
    }
  }

  function giveUp(ms: number): Error {
    return new Error(`Gave up, and would have to wait ${ms} ms`)
  }

  async function send(call: CallPlan, name: string) {
    try {
      const response = await fetch(...requestOf(call, name))
      const { status, headers } = response
      const retryAfter = headers.get('retry-after')
      const reset = Number(headers.get('x-ratelimit-reset')) * 1_000
      // The head of a rejection says when to come again, whatever becomes of its body.
      const text = await response.text().catch(lost => {
        if (status !== 429) throw lost
        return ''
      })
      return {
        status,
        text,
        retryAfter: retryAfter === null ? undefined : Number(retryAfter) * 1_000,
        isExhausted: headers.get('x-ratelimit-remaining') === '0',
        // By the clock of the server, as its own may be off.
        untilReset: Math.max(0, reset - Date.parse(headers.get('date') ?? '')),
      }
    } catch {
      return undefined
    }
  }

  function requestOf(call: CallPlan, name: string): [string, RequestInit] {
    const headers = { authorization: `Bearer ${key()}` }
    if (call.do !== 'create') {
      const target =
        call.do === 'list' ? targetOf(call) : call.do === 'get' ? `/pets/${call.id}` : '/pets'
      return [BASE_URL + target, { headers }]
    }
    const own = {
      ...headers,
      'content-type': 'application/json',
      ...(hasIdempotency && { 'idempotency-key': `"${name}"` }),
    }
    return [`${BASE_URL}/pets`, { method: 'POST', headers: own, body: bodyOf(call.pet) }]
  }
}
