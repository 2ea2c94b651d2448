import { remember } from '../log/bounded-log.js'
import {
  type CreateWatch,
  endOf,
  exhaustedUntil,
  isLater,
  isLost,
  type Rule,
  retryAfterOf,
  type Seen,
  TOLERANCE,
  type Violation,
} from './rule.js'

export const BACKOFF = {
  id: 'backoff.constant',
  fix: 'Make each pause longer than the one before (1 s, 2 s, 4 s, …), with jitter.',
  violatedBy:
    'four or more retries of one request whose pauses do not grow, where no header said when to retry',
} as const satisfies Rule

export const NO_BACKOFF = {
  id: 'backoff.none',
  fix: 'Slow down while the service fails, whatever the request: 1 s, 2 s, 4 s, …, with jitter.',
  violatedBy:
    'twenty different requests in a row that fail without Retry-After, and none more slowly than before; always a note',
} as const satisfies Rule

/** Several requests may be failing side by side, each with a backoff of its own. */
const MANY_FAILURES = 20

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

const MOST_TRIES = 20

export const watchBackoff: CreateWatch = () => {
  const last = new Map<string, Seen>()
  const runs = new Map<string, Run>()
  const seeOthers = watchOthers()

  return {
    see(exchange) {
      const { requestDigest } = exchange
      const violations = seeOthers(exchange)
      const before = last.get(requestDigest)
      const run = runs.get(requestDigest)
      remember(last, requestDigest, exchange)
      // The wait for an answer that never comes is a timeout, not a pause.
      if (exchange.fault === 'hang') {
        runs.delete(requestDigest)
        return violations
      }
      const isOver = run?.end !== undefined
      if (isUntimedFailure(exchange)) {
        if (!run || isOver) {
          const begun = { before, tries: [exchange], latest: exchange, end: undefined }
          remember(runs, requestDigest, begun)
        } else {
          run.latest = exchange
          if (run.tries.length < MOST_TRIES) run.tries.push(exchange)
        }
      } else if (isOver) runs.delete(requestDigest)
      else if (run) run.end = exchange
      const next = { next: exchange, now: exchange.at }
      return run && isOver ? [...violations, ...judgeRun(run, next)] : violations
    },
    open: now => [...runs.values()].flatMap(run => judgeRun(run, { now })),
  }
}

function watchOthers(): (exchange: Seen) => readonly Violation[] {
  let failed: readonly Seen[] = []
  return exchange => {
    const isOther = failed.every(one => one.requestDigest !== exchange.requestDigest)
    if (!isUntimedFailure(exchange) || !isOther) failed = []
    const last = failed.at(-1)
    const counts = isOther && isUntimedFailure(exchange) && (!last || isLater(exchange, last))
    if (!counts || failed.length === MANY_FAILURES) return []
    failed = [...failed, exchange]
    if (failed.length < MANY_FAILURES) return []
    const pauses = failed.slice(1).map((one, at) => pauseBetween(failed[at], one))
    const half = pauses.length / 2
    if (mean(pauses.slice(half)) > 1.25 * mean(pauses.slice(0, half))) return []
    const seen = `${MANY_FAILURES} different requests failed in a row, ${some(pauses)} ms apart`
    return [{ rule: 'backoff.none', seen, exchanges: failed, isLikely: true }]
  }
}

function judgeRun(run: Run, { next, now }: { next?: Seen; now: number }): readonly Violation[] {
  const { before, tries, latest, end } = run
  const isComplete = end !== undefined && latest === tries.at(-1)
  const exchanges = isComplete ? [...tries, end] : tries
  if (!exchanges.every((one, at) => at === 0 || isLater(one, exchanges[at - 1] as Seen))) return []
  const pauses = exchanges.slice(1).map((one, at) => pauseBetween(exchanges[at], one))
  const shape = shapeOf(pauses)
  if (!shape) return []
  // Without the longest, which may be an outlier.
  const usual = pauses.toSorted((a, b) => a - b).slice(0, -1)
  const [shortest = 0, longest = 0] = [usual[0], usual.at(-1)]
  const isPace = (pause: number) => pause >= shortest / 1.25 && pause <= longest * 1.25
  const isPoll = isPace(pauseBetween(before, tries[0])) || isPace(pauseBetween(end, next))
  // Nobody polls without a pause.
  if (shape !== 'shrinking' && shape !== 'at once' && isPoll) return []
  // A run without a success may be a poll at this pace, and go on.
  const mayGoOn = !end && now - endOf(latest) <= longest * 1.25 + TOLERANCE
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
 * The shape of pauses that do not grow; undefined for those that do, and for too few pauses: three may
 * be equal by chance. The pauses of a polite client grow up to a cap, each with jitter. Where the cap is
 * at least twice the first pause, they have one of these shapes in less than one run in a hundred; a
 * run that begins at its cap is constant.
 */
function shapeOf(pauses: readonly number[]) {
  const { length } = pauses
  const [first = 0] = pauses
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  if (length < 4 || shortest < 0) return undefined
  // On a frozen clock a pause in real time has no length.
  if (longest === 0) return 'none'
  const each = (isTrue: (pause: number, before: number) => boolean) =>
    pauses.every((pause, at) => at === 0 || isTrue(pause, pauses[at - 1] as number))
  if (each((pause, before) => pause > 1.25 * before)) return undefined
  // Jitter over 100 ms makes four short pauses by chance, but not six.
  if (longest < (length < 6 ? 25 : 100)) return 'at once'
  // Timers are late, never early: shorter pauses beside equal longest ones are growth up to a cap.
  const atCap = pauses.filter(pause => pause >= 0.998 * longest - 1).length
  const isCapped = atCap >= Math.max(length < 6 ? 2 : 3, length / 3)
  if (isCapped && shortest < 0.98 * longest) return undefined
  if (isEven(pauses) || hasOutlier(pauses, longest)) return 'constant'
  if (each((pause, before) => pause < (length < 6 ? 0.6 : 1) * before)) return 'shrinking'
  const risesLate = mean(pauses.slice(0, 2)) < 0.9 * mean(pauses.slice(2))
  const rises = risesLate || first < 0.7 * mean(pauses.slice(1)) || atCap > 1
  const fewest = longest <= 1.6 * shortest ? 6 : longest <= 2.4 * shortest ? 8 : 12
  return length >= fewest && longest <= 3 * shortest && !rises ? 'jittered' : undefined
}

function isEven(pauses: readonly number[]): boolean {
  return Math.max(...pauses) <= Math.min(...pauses) * 1.25 + 2
}

/** A single long pause, after which it goes on as before. */
function hasOutlier(pauses: readonly number[], longest: number): boolean {
  const outlier = pauses.indexOf(longest)
  const isInside = pauses.length >= 6 && outlier < pauses.length - 1
  return isInside && isEven(pauses.filter((_, at) => at !== outlier))
}

/** NaN, which is no pace, when one of them does not exist. */
function pauseBetween(answered: Seen | undefined, next: Seen | undefined): number {
  return (next?.at ?? Number.NaN) - (answered ? endOf(answered) : Number.NaN)
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

function some(pauses: readonly number[]): string {
  const shown = pauses.slice(0, 5).map(Math.round).join(', ')
  return pauses.length > 5 ? `${shown}, …` : shown
}

function isUntimedFailure(exchange: Seen): boolean {
  if (isLost(exchange)) return true
  const { status } = exchange
  const failed = status === 429 || (status !== null && status >= 500)
  return failed && (retryAfterOf(exchange) ?? exhaustedUntil(exchange)) === undefined
}
