import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker } from './rule-breaker.js'

/** Takes X-RateLimit-Reset for a number of milliseconds to wait: three weeks. It does so once. */
export function miscounting(context: ActorContext): Actor {
  let isDone = false

  return ruleBreaker(context, async client => {
    if (isDone) return false
    const { isExhausted, reset } = await client.send(client.next())
    if (!isExhausted) return false
    isDone = true
    await client.pause(reset)
    const { status } = await client.send(client.next())
    // The host may have removed its key meanwhile: then the two requests have no key in common.
    return status !== undefined && status !== 401
  })
}
