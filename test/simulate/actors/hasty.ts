import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker, untilRejected } from './rule-breaker.js'

/** The pause after a rejection, whatever Retry-After says. */
const PAUSE = 1_000
const LEAST_WAIT = 3_000
/** With fewer, a rejection more may be a ban. */
const LEAST_PATIENCE = 5

/** Sends a rejected request again too early, once. */
export function hasty(context: ActorContext): Actor {
  return ruleBreaker(context, async client => {
    const { request, wait } = await untilRejected(client)
    const isSafe = context.setting.limits.banAfter >= LEAST_PATIENCE
    if (!isSafe || wait < LEAST_WAIT) return false
    await client.pause(PAUSE)
    const { status, code } = await client.send(request)
    return status !== undefined && code !== 'api_key_banned'
  })
}
