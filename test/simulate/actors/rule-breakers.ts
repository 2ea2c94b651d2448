import type { RuleId } from '../../../adapters/verdict/rules/index.js'
import type { ActorContext, ActorKind } from './actor.js'
import { bodyOf } from './pet-of.js'
import { type BreakRule, ruleBreaker, type Sent, untilRejected } from './rule-breaker.js'

/** With fewer, one more rejection may be a ban. */
const LEAST_PATIENCE = 5
const MOST_ATTEMPTS = 10
/** Three equal pauses may be chance, and so many refusals in a row are more than a test of error handling. */
const MANY = 5

/** Sends a rejected request again just too early, or just not: the verdict forgives 100 ms. */
function hasty({ setting, clock, random }: ActorContext): BreakRule {
  const early = random() < 0.7 ? 101.5 : 98.5
  return async client => {
    const { request, wait, reset } = await untilRejected(client)
    if (setting.limits.banAfter < LEAST_PATIENCE || wait < 3_000) return false
    await client.pause(Math.min(wait, reset * 1_000 - (clock() - setting.skew)) - early)
    const { status, code } = await client.send(request)
    if (early < 100) return false
    return status !== undefined && code !== 'api_key_banned' ? true : undefined
  }
}

/** Goes on with other requests when one was rejected because nothing remains. */
function pushy({ setting }: ActorContext): BreakRule {
  return async client => {
    const { wait } = await untilRejected(client)
    if (setting.limits.banAfter < LEAST_PATIENCE || wait < 30_000) return undefined
    let answers = 0
    for (let others = 0; others < 3; others++) {
      await client.pause(500)
      const { status, code } = await client.send(client.next())
      if (code === 'api_key_banned') return undefined
      if (status !== undefined) answers++
    }
    return answers >= 2 || undefined
  }
}

/** Goes on after a rejection until its key is banned, within one minute. */
function stubborn({ setting, clock }: ActorContext): BreakRule {
  return async client => {
    const { code, date } = await untilRejected(client)
    const isEarly = date % 60_000 < 15_000
    if (code !== 'rate_limit_exceeded' || !isEarly) return undefined
    if (setting.limits.banAfter > LEAST_PATIENCE) return undefined
    const end = clock() + 30_000
    while (clock() < end) {
      await client.pause(150)
      const next = await client.send(client.next())
      if (next.code === 'api_key_banned') return clock() < end || undefined
    }
    return undefined
  }
}

/** Takes X-RateLimit-Reset for a number of milliseconds to wait: three weeks. It does so once. */
function miscounting(): BreakRule {
  let isDone = false
  return async client => {
    if (isDone) return undefined
    const { isExhausted, reset } = await client.send(client.next())
    if (!isExhausted) return undefined
    isDone = true
    await client.pause(reset)
    const { status } = await client.send(client.next())
    // The host may have removed its key meanwhile: then the two requests have no key in common.
    return (status !== undefined && status !== 401) || undefined
  }
}

/** Repeats what was lost at one pace. */
function metronome(): BreakRule {
  return async client => {
    const request = client.next()
    for (let attempts = 1; ; attempts++) {
      const { status, isLate } = await client.send(request)
      // How long it waits for a response is no pause.
      if (isLate) return undefined
      // A 503 says when to come again.
      if (status !== undefined) return attempts >= MANY || undefined
      if (attempts === MOST_ATTEMPTS) return true
      await client.pause(50)
    }
  }
}

/** Sends a request that is wrong again and again, as it is; or once less often than counts. */
function obstinate({ random }: ActorContext): BreakRule {
  const enough = random() < 0.7 ? MANY : MANY - 1
  return async client => {
    let refusals = 0
    for (let attempts = 0; attempts < MOST_ATTEMPTS && refusals < enough; attempts++) {
      const { status, wait } = await client.send(['/pets?limit=0'])
      if (wait > 60_000) return undefined
      if (status === 400) refusals++
      await client.pause(Math.max(2_000, wait))
    }
    if (enough === MANY) return refusals === MANY || undefined
    // It gets on, so what follows is a new occasion.
    const { status = 500 } = await client.send(['/pets'])
    return status < 400 ? false : undefined
  }
}

/** Repeats a create without a key when its response was lost. */
function careless(): BreakRule {
  return async (client, call) => {
    if (call.do !== 'create') return undefined
    const headers = { 'content-type': 'application/json' }
    const create: Sent = ['/pets', { method: 'POST', headers, body: bodyOf(call.pet) }]
    const { status, isLate, cutStatus = 201 } = await client.send(create)
    if (status !== undefined || cutStatus !== 201) return undefined
    await client.pause(3_000)
    const again = await client.send(create)
    // After silence, nobody knows that it was lost.
    return (again.status === 201 && !isLate) || undefined
  }
}

/** Sends what breaks a rule by itself. With other statuses, the key may be to blame, or the server. */
function sends(requestOf: (count: number) => Sent, certain: readonly number[]): () => BreakRule {
  return () => {
    let count = 0
    return async client => {
      const { status } = await client.send(requestOf(++count))
      return (status !== undefined && certain.includes(status)) || undefined
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
