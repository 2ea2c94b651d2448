import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker, type Sent } from './rule-breaker.js'

/** Calls what is deprecated, for one animal after the other. */
export function outdated(context: ActorContext): Actor {
  let id = 0
  return sends(context, () => [`/pets/${++id}`], [200, 404, 410])
}

/** Sends a parameter that nobody knows. */
export function misspelling(context: ActorContext): Actor {
  return sends(context, () => ['/pets?pageSize=5'], [200])
}

/** Sends a key that was never valid. */
export function keyless(context: ActorContext): Actor {
  return sends(context, () => ['/pets', { headers: { authorization: 'Bearer invented' } }], [401])
}

/** With other statuses, the key may be to blame, or the server. */
function sends(context: ActorContext, requestOf: () => Sent, certain: readonly number[]): Actor {
  return ruleBreaker(context, async client => {
    const { status } = await client.send(requestOf())
    return status !== undefined && certain.includes(status)
  })
}
