import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker, untilRejected } from './rule-breaker.js'

const PAUSE = 150
const MOST_PATIENCE = 5
const [MINUTE, HALF_A_MINUTE] = [60_000, 30_000]

/** Goes on after a rejection until its key is banned, within one minute. */
export function stubborn(context: ActorContext): Actor {
  const { setting, clock } = context

  return ruleBreaker(context, async client => {
    const { code, date } = await untilRejected(client)
    const isEarly = date % MINUTE < HALF_A_MINUTE / 2
    if (code !== 'rate_limit_exceeded' || !isEarly) return false
    if (setting.limits.banAfter > MOST_PATIENCE) return false
    const end = clock() + HALF_A_MINUTE
    while (clock() < end) {
      await client.pause(PAUSE)
      const next = await client.send(client.next())
      if (next.code === 'api_key_banned') return clock() < end
    }
    return false
  })
}
