import { type Finding, judge } from '../../adapters/judge/index.js'
import type { RuleId } from '../../adapters/verdict/rules/index.js'
import { type ActorKind, BASE_URL } from './actors/actor.js'
import { ACTORS } from './actors/index.js'
import { petOf } from './actors/pet-of.js'
import { watchManners } from './manners.js'
import type { ApiModel } from './model/api.js'
import type { Network, Watcher } from './network.js'
import { choicesOf } from './random.js'
import type { ActorSetting, CallPlan, Setting } from './scenario.js'
import type { Scheduler } from './scheduler.js'
import { ensure, Violation } from './violation.js'

export interface CastOptions {
  readonly seed: string
  readonly setting: Setting
  readonly scheduler: Scheduler
  readonly network: Network
  readonly model: ApiModel
  readonly addKey: (id: string, expiresIn?: number | null) => string
  /** Whether nothing in this world gives the server a reason to reject a polite client. */
  readonly isQuiet: boolean
  readonly hasClockSteps: boolean
  readonly note: (what: string) => void
  readonly trace: (line: string) => void
  readonly fail: (error: unknown) => void
}

/** Everybody who takes part. */
export function createCast(options: CastOptions) {
  const { seed, setting, scheduler, network, model, addKey, isQuiet, note, trace, fail } = options
  const { hasClockSteps } = options
  const keys = new Map(
    setting.actors.map(({ name, keys }) => [
      name,
      Array.from({ length: keys }, (_, at) => addKey(at === 0 ? name : `${name} #${at}`)),
    ]),
  )
  const renewed = new Set<string>()
  const verdicts = new Map<string, (broke: boolean | undefined) => void>()
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
      renewed.add(name)
      keys.set(name, [addKey(name, expiresIn)])
    },
    /** How many calls have not ended. */
    open: () => open,
    /** Closes all clients, when their calls have ended, and looks at the verdict on each. */
    async close(): Promise<void> {
      await Promise.all([...actors.values()].map(actor => actor.close?.()))
      for (const [name, check] of verdicts) check(actors.get(name)?.broke?.())
    },
  }

  function create(actor: ActorSetting) {
    const { name, kind, skew, client } = actor
    const known = ACTORS[kind]
    if (!known) throw new Error(`Unknown actor ${kind}; expected one of ${Object.keys(ACTORS)}`)
    const manners = { name, client, note, now: scheduler.now, isSpared: isQuiet, hasClockSteps }
    const watcher = reported(watchManners(manners), fail)
    const choices = choicesOf(seed, 'actor', name)
    return known.create({
      setting: actor,
      hasIdempotency: setting.idempotencyMs !== null,
      fetch: judged(actor, known, network.fetchFor(actor, known.isPolite ? watcher : undefined)),
      clock: () => Math.floor(scheduler.now() + skew),
      sleep: (ms, { signal } = {}) => sleep(scheduler, ms, signal),
      random: () => choices.between(0, 1),
      key: () => choices.pick(keys.get(name) as readonly string[]),
      model,
    })
  }

  /** Where the clock of the server is right, as Reset says nothing otherwise. */
  function judged({ name, limits, used }: ActorSetting, kind: ActorKind, fetch: Fetch) {
    const { isPolite, breaks, atLeast } = kind
    if (hasClockSteps || !(isPolite || breaks)) return fetch
    const { pagination } = setting
    const allow = ALLOWED.filter(rule => rule !== breaks)
    const clock = scheduler.now
    const sent: Sent[] = []
    const logged: Fetch = async (input, init) => {
      const one: Sent = { method: init?.method ?? 'GET', url: String(input), at: clock() }
      sent.push(one)
      const response = await judging.fetch(input, init)
      one.response = response
      return response
    }
    const judging = judge(fetch, { baseUrl: BASE_URL, clients: 1, allow, pagination, clock })
    verdicts.set(name, broke => {
      const { findings, notes } = judging.report()
      const found = [...findings, ...notes.filter(({ rule }) => rule === 'create.repeated')]
      const isFound = found.some(({ rule }) => rule === breaks)
      if (broke) note(`broke ${breaks}`)
      for (const finding of [...findings, ...notes]) ensureShown(name, finding, sent)
      ensureWhole(name, [...findings, ...notes], sent, pagination)
      ensure(isFound || !broke, 'verdict.sharp', () => `nobody saw ${name} break ${breaks}`)
      ensure(!isFound || broke !== false, 'verdict.just', () => `${name} kept ${breaks}`)
      // A client that stops at a rejection never sees more than it sends at once. If those did not ban its
      // key, others did: rejections that the network kept from it, or those of its other keys.
      const isShared = used !== null || renewed.has(name) || network.hasMissedRejection(name)
      const isByOthers = (seen: string) => {
        const rejections = rejectionsOf(seen)
        const areFew = rejections.every(number => number <= limits.banAfter)
        return isShared && rejections.length > 0 && areFew
      }
      const unjust = found
        .filter(({ rule, allowed }) => !allowed && rule !== breaks && rule !== atLeast)
        .filter(({ rule, seen }) => rule !== 'ban.risked' || !isByOthers(seen))
      const text = () => unjust.map(({ rule, seen }) => `${rule}: ${seen}`).join('; ')
      ensure(unjust.length === 0, 'verdict.just', () => `${name}: ${text()}`)
    })
    return logged
  }

  function outcomeOf(error: unknown): string {
    const name = error instanceof Error ? error.name : String(error)
    if (error instanceof Violation || !FORESEEN.test(`${error}`)) fail(error)
    return `gets ${name}`
  }
}

interface Sent {
  readonly method: string
  readonly url: string
  readonly at: number
  response?: Response
}

/** What a finding shows is what was sent and answered. */
function ensureShown(name: string, finding: Finding, sent: readonly Sent[]): void {
  const { at, requests, shown } = finding
  const isRight = shown.every(({ n, method, status, retryAfter, tooEarlyAfter }) => {
    const one = sent[n - 1]
    const isTooEarly =
      tooEarlyAfter === null || Number(sent[tooEarlyAfter - 1]?.response?.status) > 428
    const { response } = one ?? {}
    const isSame = status === null || status === response?.status
    const isWait = retryAfter === (response?.headers.get('retry-after') ?? null)
    return one?.method === method && isSame && isWait && isTooEarly
  })
  const isFirst = requests.some(n => sent[n - 1]?.at === at)
  ensure(isRight && isFirst, 'verdict.just', () => `${name}: ${JSON.stringify(finding)}`)
}

/** What breaks a rule by itself is found each time. */
function ensureWhole(
  name: string,
  found: readonly Finding[],
  sent: readonly Sent[],
  pagination: boolean,
): void {
  const isUnknown = pagination ? /pageSize=/ : /pageSize=|after=/
  const rules: Readonly<Record<string, (one: Sent) => boolean>> = {
    'deprecated.called': ({ method, url }) => method === 'GET' && /\/pets\/[^/]+$/.test(url),
    'key.refused': ({ response }) => response?.status === 401,
    'name.unknown': ({ url }) => isUnknown.test(url),
  }
  for (const [rule, breaks] of Object.entries(rules)) {
    const seen = found.filter(one => one.rule === rule).flatMap(({ requests }) => requests)
    const isRight = sent.every((one, index) => {
      const isSeen = seen.includes(index + 1)
      // Whose key is refused is a stranger, unless it was accepted before.
      const isSure = rule === 'key.refused' || ![401, undefined].includes(one.response?.status)
      return breaks(one) ? isSeen || !isSure : !isSeen
    })
    ensure(isRight, 'verdict.sharp', () => `${name}: ${rule} is found in ${seen}`)
  }
}

/** A client takes a `fetch` that throws for a lost connection: what a watcher finds has to end the world. */
function reported(watcher: Watcher, fail: (error: unknown) => void): Watcher {
  const report = (look: () => void) => {
    try {
      look()
    } catch (error) {
      fail(error)
    }
  }
  return {
    sent: request => report(() => watcher.sent(request)),
    received: (...given) => report(() => watcher.received(...given)),
    failed: request => report(() => watcher.failed(request)),
  }
}

/** How many of a client preceded each of its bans. */
function rejectionsOf(seen: string): readonly number[] {
  return [...seen.matchAll(/the (\d+) rejections/g)].map(([, number]) => Number(number))
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

/** What the network and the server give reason to. */
const FORESEEN =
  /^(ApiError|RateLimitError|ApiKeyBannedError|ConnectionError|TimeoutError|Error: No answer)|^TypeError: (fetch failed|terminated)|^ContractError: .* has no pagination/

function sleep(scheduler: Scheduler, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = scheduler.after('sleep', ms, resolve)
    signal?.addEventListener('abort', () => {
      cancel()
      reject(signal.reason)
    })
  })
}
