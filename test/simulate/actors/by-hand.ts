import type { Actor, ActorContext } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'
import { ruleBreaker, type Sent } from './rule-breaker.js'

const LONGEST_WAIT = 120_000

/** A careful client written by hand: it breaks no rule, and tries again what may be tried again. */
export function byHand(context: ActorContext): Actor {
  const { setting, random, hasIdempotency } = context
  let creates = 0
  let wait = 0

  return ruleBreaker(context, async (client, call) => {
    const isRisky = call.do === 'create' && !hasIdempotency
    const request = requestOf()
    for (
      let attempts = 1;
      attempts <= 1 + setting.client.maxRetries && wait <= LONGEST_WAIT;
      attempts++
    ) {
      await client.pause(wait)
      const reply = await client.send(request)
      const { status = 0, isExhausted, reset, date } = reply
      // By the clock of the server, as its own may be off.
      const untilReset = isExhausted ? Math.max(0, reset * 1_000 - date) : 0
      // A 503 says when the storage may be back, which may be before the next window.
      wait = Math.max(reply.wait, untilReset)
      const isLost = status === 0 || status >= 500
      if (status !== 429 && (!isLost || isRisky)) return false
      if (isLost) wait = Math.max(wait, 1_000 * 2 ** attempts + Math.floor(random() * 1_000))
    }
    return false

    function requestOf(): Sent {
      if (call.do !== 'create') {
        return [
          call.do === 'list' ? targetOf(call) : call.do === 'get' ? `/pets/${call.id}` : '/pets',
        ]
      }
      const headers = {
        'content-type': 'application/json',
        ...(hasIdempotency && {
          'idempotency-key': `"${setting.name.replace(' ', '-')}-${++creates}"`,
        }),
      }
      return ['/pets', { method: 'POST', headers, body: bodyOf(call.pet) }]
    }
  })
}
