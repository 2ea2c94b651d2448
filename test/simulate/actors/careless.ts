import type { Actor, ActorContext } from './actor.js'
import { bodyOf } from './pet-of.js'
import { ruleBreaker, type Sent } from './rule-breaker.js'

const PAUSE = 3_000

/** Repeats a create without a key when its response was lost. */
export function careless(context: ActorContext): Actor {
  return ruleBreaker(context, async (client, call) => {
    if (call.do !== 'create') return false
    const headers = { 'content-type': 'application/json' }
    const create: Sent = ['/pets', { method: 'POST', headers, body: bodyOf(call.pet) }]
    const { status, isLate, cutStatus = 201 } = await client.send(create)
    if (status !== undefined || cutStatus !== 201) return false
    await client.pause(PAUSE)
    const again = await client.send(create)
    // After silence, nobody knows that it was lost.
    return again.status === 201 && !isLate
  })
}
