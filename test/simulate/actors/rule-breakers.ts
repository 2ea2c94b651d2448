import type { RuleId } from '../../../adapters/verdict/rules/index.js'
import type { ActorContext, ActorKind } from './actor.js'
import { bodyOf } from './pet-of.js'
import { type BreakRule, ruleBreaker, type Sent, untilRejected } from './rule-breaker.js'

/** With fewer, one more rejection may be a ban. */
const LEAST_PATIENCE = 5
const MOST_ATTEMPTS = 10
/** Three equal pauses may be chance, and so many refusals in a row are more than a test of error handling. */
const MANY = 5

/** Sends a rejected request again too early, once. */
function hasty({ setting }: ActorContext): BreakRule {
  return async client => {
    const { request, wait } = await untilRejected(client)
    if (setting.limits.banAfter < LEAST_PATIENCE || wait < 3_000) return false
    await client.pause(1_000)
    const { status, code } = await client.send(request)
    return status !== undefined && code !== 'api_key_banned'
  }
}

/** Goes on with other requests when one was rejected because nothing remains. */
function pushy({ setting }: ActorContext): BreakRule {
  return async client => {
    const { wait } = await untilRejected(client)
    if (setting.limits.banAfter < LEAST_PATIENCE || wait < 30_000) return false
    let answers = 0
    for (let others = 0; others < 3; others++) {
      await client.pause(500)
      const { status, code } = await client.send(client.next())
      if (code === 'api_key_banned') return false
      if (status !== undefined) answers++
    }
    return answers >= 2
  }
}

/** Goes on after a rejection until its key is banned, within one minute. */
function stubborn({ setting, clock }: ActorContext): BreakRule {
  return async client => {
    const { code, date } = await untilRejected(client)
    const isEarly = date % 60_000 < 15_000
    if (code !== 'rate_limit_exceeded' || !isEarly) return false
    if (setting.limits.banAfter > LEAST_PATIENCE) return false
    const end = clock() + 30_000
    while (clock() < end) {
      await client.pause(150)
      const next = await client.send(client.next())
      if (next.code === 'api_key_banned') return clock() < end
    }
    return false
  }
}

/** Takes X-RateLimit-Reset for a number of milliseconds to wait: three weeks. It does so once. */
function miscounting(): BreakRule {
  let isDone = false
  return async client => {
    if (isDone) return false
    const { isExhausted, reset } = await client.send(client.next())
    if (!isExhausted) return false
    isDone = true
    await client.pause(reset)
    const { status } = await client.send(client.next())
    // The host may have removed its key meanwhile: then the two requests have no key in common.
    return status !== undefined && status !== 401
  }
}

/** Repeats what was lost at one pace. */
function metronome(): BreakRule {
  return async client => {
    const request = client.next()
    for (let attempts = 1; ; attempts++) {
      const { status, isLate } = await client.send(request)
      // How long it waits for a response is no pause.
      if (isLate) return false
      // A 503 says when to come again.
      if (status !== undefined) return attempts >= MANY
      if (attempts === MOST_ATTEMPTS) return true
      await client.pause(50)
    }
  }
}

/** Sends a request that is wrong again and again, as it is. */
function obstinate(): BreakRule {
  return async client => {
    let refusals = 0
    for (let attempts = 0; attempts < MOST_ATTEMPTS && refusals < MANY; attempts++) {
      const { status, wait } = await client.send(['/pets?limit=0'])
      if (wait > 60_000) return false
      if (status === 400) refusals++
      await client.pause(Math.max(2_000, wait))
    }
    return refusals === MANY
  }
}

/** Repeats a create without a key when its response was lost. */
function careless(): BreakRule {
  return async (client, call) => {
    if (call.do !== 'create') return false
    const headers = { 'content-type': 'application/json' }
    const create: Sent = ['/pets', { method: 'POST', headers, body: bodyOf(call.pet) }]
    const { status, isLate, cutStatus = 201 } = await client.send(create)
    if (status !== undefined || cutStatus !== 201) return false
    await client.pause(3_000)
    const again = await client.send(create)
    // After silence, nobody knows that it was lost.
    return again.status === 201 && !isLate
  }
}

/** Sends what breaks a rule by itself. With other statuses, the key may be to blame, or the server. */
function sends(requestOf: (count: number) => Sent, certain: readonly number[]): () => BreakRule {
  return () => {
    let count = 0
    return async client => {
      const { status } = await client.send(requestOf(++count))
      return status !== undefined && certain.includes(status)
    }
  }
}

const INVENTED = { headers: { authorization: 'Bearer invented' } }

/** Those who break one rule each. */
export const RULE_BREAKERS: Readonly<Record<string, ActorKind>> = {
  hasty: breaks('retry-after.early', hasty),
  pushy: breaks('remaining.ignored', pushy),
  stubborn: { ...breaks('ban.risked', stubborn), atLeast: 'remaining.ignored' },
  miscounting: breaks('reset.as-delta', miscounting),
  metronome: breaks('backoff.constant', metronome),
  outdated: breaks(
    'deprecated.called',
    sends(id => [`/pets/${id}`], [200, 404, 410]),
  ),
  keyless: breaks(
    'key.refused',
    sends(() => ['/pets', INVENTED], [401]),
  ),
  misspelling: breaks(
    'name.unknown',
    sends(() => ['/pets?pageSize=5'], [200]),
  ),
  obstinate: breaks('refusal.repeated', obstinate),
  careless: breaks('create.repeated', careless),
}

function breaks(rule: RuleId, how: (context: ActorContext) => BreakRule): ActorKind {
  return { breaks: rule, create: context => ruleBreaker(context, how(context)) }
}
