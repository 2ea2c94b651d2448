import { type Finding, judge } from '../../adapters/verdict/judge/index.js'
import type { RuleId } from '../../adapters/verdict/rules/index.js'
import { BASE_URL } from './actors/actor.js'
import { ACTORS } from './actors/index.js'
import { petOf } from './actors/pet-of.js'
import { createLog } from './log.js'
import { watchManners } from './manners.js'
import type { Network, Watcher } from './network.js'
import { choicesOf } from './random.js'
import type { ActorSetting, CallPlan } from './scenario.js'
import type { Scheduler } from './scheduler.js'
import type { Stage } from './stage.js'
import { ensure, Violation } from './violation.js'

export interface CastOptions extends Stage {
  readonly network: Network
  readonly addKey: (id: string, expiresIn?: number | null) => string
  /** Nothing in this world gives the server a reason to reject a polite client. */
  readonly isQuiet: boolean
  readonly hasClockSteps: boolean
}

/** Everybody who takes part. */
export function createCast(options: CastOptions) {
  const { seed, setting, scheduler, network, model, addKey, trace, fail } = options
  const { hasClockSteps } = options
  const keys = new Map(setting.actors.map(({ name, expiresIn }) => [name, addKey(name, expiresIn)]))
  const verdicts: (() => void)[] = []
  const actors = new Map(setting.actors.map(actor => [actor.name, create(actor)]))
  let open = 0

  return {
    call(name: string, plan: CallPlan): void {
      if (plan.do === 'create') model.register(petOf(plan.pet))
      open++
      actors
        .get(name)
        ?.act(plan)
        .then(() => 'is done', outcomeOf)
        .then(outcome => {
          open--
          trace(`${name} ${outcome}`)
        })
    },
    /** Gives an actor another API key of the same customer. */
    renewKey(name: string, expiresIn: number | null): void {
      keys.set(name, addKey(name, expiresIn))
    },
    open: () => open,
    /** Closes all clients, when their calls have ended, and looks at the verdict on each. */
    async close(): Promise<void> {
      await Promise.all([...actors.values()].map(actor => actor.close?.()))
      for (const check of verdicts) check()
    },
  }

  function create(actor: ActorSetting) {
    const { name, kind, skew } = actor
    const known = ACTORS[kind]
    if (!known) throw new Error(`Unknown actor ${kind}; expected one of ${Object.keys(ACTORS)}`)
    const clock = () => scheduler.now() + skew
    const log = createLog(clock)
    const watchers = known.isPolite ? [watchManners(actor, options), log] : [log]
    const fetch = network.fetchFor(actor, reporting(watchers, fail))
    const isJudged = !hasClockSteps && known.isPolite
    const choices = choicesOf(seed, 'actor', name)
    return known.create({
      setting: actor,
      hasIdempotency: setting.idempotencyMs !== null,
      options: setting.options,
      fetch: isJudged ? judged(name, fetch, clock) : fetch,
      sent: log.requests,
      clock: () => Math.floor(clock()),
      sleep: (ms, { signal } = {}) => sleep(scheduler, ms, signal),
      after: scheduler.after,
      random: () => choices.between(0, 1),
      key: () => keys.get(name) as string,
      ...{ model, fail },
    })
  }

  /** Where the clock of the server is right, as Reset says nothing otherwise. */
  function judged(name: string, fetch: Fetch, clock: () => number): Fetch {
    const { pagination } = setting.options
    const given = {
      ...{ baseUrl: BASE_URL, clients: 1, allow: ALLOWED, clock },
      ...(pagination && { pagination }),
    }
    const judging = judge({ fetch, ...given })
    verdicts.push(() => {
      const { findings } = judging.report()
      // A call after one that gave up on a server that is down looks like its next attempt.
      const isNewCall = ({ rule, evidence }: Finding) =>
        rule === 'retry-after.early' &&
        evidence.length > 0 &&
        evidence.every(text => / got 5\d\d /.test(text))
      // Others may have had a part in a ban: those with another key of the customer, or the network.
      const isUnjust = (one: Finding) =>
        !one.allowed && one.rule !== 'ban.risked' && !isNewCall(one)
      const unjust = findings.filter(isUnjust).map(({ rule, seen }) => `${rule}: ${seen}`)
      ensure(unjust.length === 0, 'verdict.just', () => `${name}: ${unjust.join('; ')}`)
    })
    return judging.fetch
  }

  function outcomeOf(error: unknown): string {
    const name = error instanceof Error ? error.name : String(error)
    if (error instanceof Violation || !FORESEEN.test(`${error}`)) fail(error)
    return `gets ${name}`
  }
}

/** A client takes a `fetch` that throws for a lost connection: what a watcher finds has to end the world. */
function reporting(watchers: readonly Watcher[], fail: (error: unknown) => void): Watcher {
  const tell = (look: (watcher: Watcher) => void) => {
    for (const watcher of watchers) {
      try {
        look(watcher)
      } catch (error) {
        fail(error)
      }
    }
  }
  return {
    sent: request => tell(one => one.sent(request)),
    received: (...given) => tell(one => one.received(...given)),
    failed: (...given) => tell(one => one.failed(...given)),
  }
}

type Fetch = typeof globalThis.fetch

/**
 * Anybody may break these. The host may remove a key while a request is on its way; and calls that give up
 * on a server that is down, one after the other, look like retries at one pace.
 */
const ALLOWED: readonly RuleId[] = [
  'deprecated.called',
  'name.unknown',
  'key.refused',
  'backoff.constant',
]

const FORESEEN =
  /^(ApiError|RateLimitError|QueueFullError|ApiKeyBannedError|ConnectionError|ContractError|TimeoutError|Error: No answer)|^TypeError: (fetch failed|terminated)/

function sleep(scheduler: Scheduler, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = scheduler.after('sleep', ms, resolve)
    signal?.addEventListener('abort', () => {
      cancel()
      reject(signal.reason)
    })
  })
}
