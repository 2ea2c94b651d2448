import { DAY, MINUTE, SECOND } from '../../src/limits/decide.js'
import { watchCreates } from './creates.js'
import { watchEarly } from './early.js'
import {
  type Breach,
  type Doubt,
  exhaustedUntil,
  isExhausted,
  isLost,
  MOST_SHOWN,
  type RuleId,
  remember,
  resetOf,
  retryAfterOf,
  type Seen,
  TOLERANCE,
  type Watch,
} from './rules.js'

type CreateWatch = (clients: number | undefined, doubt: Doubt) => Watch

/** For requests with a valid key. */
export const KEY_WATCHES: readonly CreateWatch[] = [
  watchEarly,
  watchResetAsDelta,
  watchBackoff,
  watchRefusals,
  watchCreates,
  () => each('deprecated.called', deprecatedCall),
  () => each('name.unknown', unknownNames),
  () => each('key.refused', revokedKey, true),
]

/** For requests without one. */
export const STRANGER_WATCHES: readonly CreateWatch[] = [
  () => each('key.refused', refusedCredential),
]

/** A rule that a single exchange breaks. */
function each(rule: RuleId, seen: (exchange: Seen) => string | undefined, isLikely = false): Watch {
  return {
    see(exchange) {
      const text = seen(exchange)
      return text === undefined ? [] : [{ rule, seen: text, exchanges: [exchange], isLikely }]
    },
    open: () => [],
  }
}

function deprecatedCall({ operation }: Seen): string | undefined {
  return operation === 'getPet' ? 'getPet, which is deprecated, was called' : undefined
}

function unknownNames({ unknown }: Seen): string | undefined {
  if (unknown.length === 0) return undefined
  const names = unknown.slice(0, 5).map(name => `\`${name.slice(0, 80)}\``)
  return `${names.join(', ')} ${unknown.length > 5 ? 'and others were' : 'was'} sent`
}

/** RFC 6750 §3.1: only a request that carried a credential gets an error code. */
function refusedCredential({ status, headers }: Seen): string | undefined {
  if (status !== 401) return undefined
  const isWrong = headers['www-authenticate']?.includes('error=')
  return isWrong ? 'the API key was invalid' : 'there was no API key'
}

/** Seen from outside, a key can stop being valid. */
function revokedKey({ status, fault }: Seen): string | undefined {
  if (status !== 401 || fault === 'status') return undefined
  return 'an API key that had been accepted was refused'
}

/**
 * A pause as long as Reset is after 1970, in seconds or in ms: no client waits that long by chance.
 */
function watchResetAsDelta(): Watch {
  let last: Seen | undefined

  return {
    see(exchange) {
      const exhausted = last
      last = exchange
      if (!exhausted || !isExhausted(exhausted) || exhausted.answeredAt === null) return []
      const resetMs = resetOf(exhausted)
      if (resetMs === undefined) return []
      const reset = resetMs / SECOND
      const waited = exchange.at - exhausted.answeredAt
      const inSeconds = Math.abs(waited - resetMs) <= MINUTE
      const inMs = Math.abs(waited - reset) <= SECOND
      return inSeconds || inMs ? [breach(exhausted, exchange, reset, waited)] : []
    },
    open: () => [],
  }
}

function breach(exhausted: Seen, next: Seen, reset: number, waited: number): Breach {
  const seen = `a pause of ${Math.round(waited / DAY)} days after Reset ${reset}`
  return { rule: 'reset.as-delta', seen, exchanges: [exhausted, next] }
}

/** One request that failed again and again, and no header said when to retry. */
interface Run {
  /** The same request, answered before the first failure. */
  readonly before: Seen | undefined
  /** The first attempts; their pauses are enough to judge the rest by. */
  readonly tries: Seen[]
  latest: Seen
  /** The attempt that did not fail. */
  end: Seen | undefined
}

/** Enough to see an exponential backoff grow. */
const MOST_TRIES = 20

/** Retries whose pauses do not grow. */
function watchBackoff(): Watch {
  const last = new Map<string, Seen>()
  const runs = new Map<string, Run>()

  return {
    see(exchange) {
      const { requestDigest } = exchange
      const before = last.get(requestDigest)
      const run = runs.get(requestDigest)
      remember(last, requestDigest, exchange)
      // How long a client waits for no answer at all is its timeout, not a pause.
      if (exchange.fault === 'hang') {
        runs.delete(requestDigest)
        return []
      }
      const isOver = run?.end !== undefined
      if (isUntimedFailure(exchange)) {
        if (!run || isOver) {
          remember(runs, requestDigest, {
            before,
            tries: [exchange],
            latest: exchange,
            end: undefined,
          })
        } else {
          run.latest = exchange
          if (run.tries.length < MOST_TRIES) run.tries.push(exchange)
        }
      } else if (isOver) runs.delete(requestDigest)
      else if (run) run.end = exchange
      return run && isOver ? judgeRun(run, { next: exchange, now: exchange.at }) : []
    },
    open: now => [...runs.values()].flatMap(run => judgeRun(run, { now })),
  }
}

function judgeRun(run: Run, { next, now }: { next?: Seen; now: number }): readonly Breach[] {
  const { before, tries, latest, end } = run
  const isComplete = end !== undefined && latest === tries.at(-1)
  const exchanges = isComplete ? [...tries, end] : tries
  if (!exchanges.every((one, at) => at === 0 || isLater(one, exchanges[at - 1]))) return []
  const pauses = exchanges.slice(1).map((one, at) => pauseBetween(exchanges[at], one))
  const shape = shapeOf(pauses, latest.hasOverlapped)
  if (!shape) return []
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  const isPace = (pause: number) => pause >= shortest / 1.25 && pause <= longest * 1.25
  const isPoll = isPace(pauseBetween(before, tries[0])) || isPace(pauseBetween(end, next))
  if (shape !== 'shrinking' && isPoll) return []
  // What has failed from beginning to end may be a poll at this pace, and go on.
  const mayGoOn = !end && now - (latest.answeredAt ?? latest.at) <= longest * 1.25 + TOLERANCE
  return [
    {
      rule: 'backoff.constant',
      seen: `${tries.length} attempts at one request failed, ${some(pauses)} ms apart`,
      exchanges: tries,
      isLikely: shape === 'none' || (shape === 'constant' && mayGoOn),
    },
  ]
}

/**
 * The shape of pauses that do not grow; undefined for those that do, and for too few pauses.
 * Three retries may be equally far apart by chance; jitter shows after six.
 */
function shapeOf(
  pauses: readonly number[],
  mayInterleave: boolean,
): 'none' | 'constant' | 'jittered' | 'shrinking' | undefined {
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  if (pauses.length < 4 || shortest < 0) return undefined
  // On a frozen clock a pause in real time has no length.
  if (longest === 0) return 'none'
  if (longest <= shortest * 1.25 + 2) return 'constant'
  if (shrinks(pauses, mayInterleave)) return 'shrinking'
  const half = Math.floor(pauses.length / 2)
  const grows = mean(pauses.slice(-half)) > 1.25 * mean(pauses.slice(0, half))
  return pauses.length >= 6 && longest <= 3 * shortest && !grows ? 'jittered' : undefined
}

/** Of calls that wait side by side, four pauses are in falling order once in 24 times. */
function shrinks(pauses: readonly number[], mayInterleave: boolean): boolean {
  const most = mayInterleave && pauses.length < 6 ? 0.6 : 1
  return pauses.every((pause, at) => at === 0 || pause < most * (pauses[at - 1] ?? 0))
}

/** Whether a request was sent after the response to another one, and not at the same time. */
function isLater(exchange: Seen, other: Seen | undefined): boolean {
  return exchange.isOneByOne || pauseBetween(other, exchange) > TOLERANCE
}

/** NaN, which is no pace, when one of them does not exist. */
function pauseBetween(answered: Seen | undefined, next: Seen | undefined): number {
  return (next?.at ?? Number.NaN) - (answered?.answeredAt ?? answered?.at ?? Number.NaN)
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

function some(pauses: readonly number[]): string {
  const shown = pauses.slice(0, 5).map(Math.round).join(', ')
  return pauses.length > 5 ? `${shown}, …` : shown
}

/** Worth another attempt, and no header says when. */
function isUntimedFailure(exchange: Seen): boolean {
  if (isLost(exchange)) return true
  const { status } = exchange
  const failed = status === 429 || (status !== null && status >= 500)
  return failed && (retryAfterOf(exchange) ?? exhaustedUntil(exchange)) === undefined
}

/** As many of the same rejected request are no mistake of a test of errors. */
const HAMMERING = 5
/** What comes again after longer than this is a new occasion, not a retry. */
const LONGEST_PAUSE = 3_600_000

interface Refusals {
  readonly exchanges: Seen[]
  count: number
  last: Seen
}

/** Requests that can only be rejected, sent again as they are. */
function watchRefusals(): Watch {
  const runs = new Map<string, Refusals>()

  return {
    see(exchange) {
      const { requestDigest, status } = exchange
      // The client got on in the meantime: the same mistake later is a new occasion.
      if (status !== null && status < 400) {
        const breaches = judgeAll()
        runs.clear()
        return breaches
      }
      if (!isFinal(exchange) || isLost(exchange)) return []
      const run = runs.get(requestDigest)
      if (run && isLater(exchange, run.last) && pauseBetween(run.last, exchange) <= LONGEST_PAUSE) {
        run.count++
        run.last = exchange
        if (run.exchanges.length < MOST_SHOWN) run.exchanges.push(exchange)
        return []
      }
      remember(runs, requestDigest, { exchanges: [exchange], count: 1, last: exchange })
      return run ? judgeRefusals(run) : []
    },
    open: judgeAll,
  }

  function judgeAll(): readonly Breach[] {
    return [...runs.values()].flatMap(judgeRefusals)
  }
}

function judgeRefusals({ exchanges, count, last }: Refusals): readonly Breach[] {
  if (count < HAMMERING) return []
  const seen = `the same request was sent ${count} times and rejected with ${last.status}`
  return [{ rule: 'refusal.repeated', seen, exchanges }]
}

/** No later attempt can succeed; the animal of a 404 may still be created. */
function isFinal({ status, operation }: Seen): boolean {
  if (status === 404) return operation === null
  return status !== null && [400, 405, 410, 413, 415].includes(status)
}
