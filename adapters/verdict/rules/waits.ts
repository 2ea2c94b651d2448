import { SECOND } from '../../../src/limits/windows-and-bans.js'
import { remember } from '../log/bounded-log.js'
import { BANS, createBans } from './bans.js'
import {
  type CreateWatch,
  endOf,
  isExhausted,
  MOST_SHOWN,
  type Rule,
  resetOf,
  retryAfterOf,
  type Seen,
  TOLERANCE,
  type Violation,
  waitOf,
} from './rule.js'
import { createWait, type Early, type Wait } from './wait-counts.js'

/** Rules about the time after a rejection. The first one that is broken is the most severe. */
export const WAIT_RULES = [
  BANS,
  {
    id: 'retry-after.early',
    fix: 'Wait at least as long as Retry-After says, then send the request again.',
    violatedBy: 'sending a rejected request again before the end of its Retry-After',
  },
  {
    id: 'remaining.ignored',
    fix: 'At X-RateLimit-Remaining 0, send nothing before X-RateLimit-Reset.',
    violatedBy: 'sending other requests after a rejection at Remaining 0, before Reset',
  },
] as const satisfies readonly Rule[]

/** Of several clients, two may have given up; if three are missing, one came again too early. */
const FEWEST_MISSING = { repeated: 3, all: 3 }
/** A client may have prepared one other request before it had read the rejection, in up to two waits. */
const FEWEST_ALONE = { repeated: 1, all: 2 }
const MOST_PREPARED = 2

/** Requests before the end of a wait, and bans. The page says when they are certain. */
export const watchWaits: CreateWatch = use => {
  const { clients } = use
  const bans = createBans(use)
  /** By the request that has to wait, or null for all: also waits after which clients still come back. */
  const waits = new Map<string | null, readonly Wait[]>()
  const answered = new Map<number, Seen>()
  /** True until something shows that several clients use the key. */
  let isAlone = true
  /** Waits with another request by a client that knew of the rejection. */
  let prepared = 0
  /** True if this client certainly caused the last ban. */
  let isToBlame = false

  return {
    see(exchange) {
      const { at, connection, requestDigest } = exchange
      const violations = [null, requestDigest].flatMap(scope => end(scope, at))
      isAlone &&= exchange.overlap === 'none' && exchange.isOneByOne
      const ban = bans.see(exchange)
      if (ban) violations.push(...meetBan(ban, exchange), ban)
      // Where several clients share the key, some may only know of the wait from before the ban.
      const isBanned = bans.lasts(at) && (isToBlame || !isAlone)
      const ours = [null, requestDigest].flatMap(scope => waits.get(scope) ?? [])
      const left = ours.filter(wait => wait.hasEnded(at) && wait.comeBack(exchange))
      // A client that comes back may run into the next wait.
      const mayKnow = !isBanned && (left.length === 0 || clients === 1)
      for (const wait of mayKnow ? ours : []) {
        if (!mayBeInFlight(exchange, wait)) wait.comeEarly(exchange)
      }
      if (!isBanned) listen(exchange)
      if (connection !== null) remember(answered, connection, exchange)
      return violations
    },
    open: () => [...waits.values()].flat().flatMap(wait => judge(wait, true)),
  }

  function end(scope: string | null, at: number): readonly Violation[] {
    const known = waits.get(scope) ?? []
    const over = known.filter(wait => wait.isOver(at))
    const left = known.filter(wait => !over.includes(wait))
    if (over.length > 0) waits.set(scope, left)
    return over.flatMap(wait => {
      const violations = judge(wait, false)
      if (othersIn(wait) > 0) prepared++
      isAlone &&= !wait.haveAllReturned()
      return violations
    })
  }

  /** A ban replaces the findings that led to it. */
  function meetBan(ban: Violation, exchange: Seen): readonly Violation[] {
    const all = [...waits.values()].flat()
    for (const wait of all) wait.extend(resetOf(exchange) ?? exchange.at)
    isToBlame = ban.isLikely !== true
    if (!isToBlame) return []
    waits.clear()
    return all.filter(wait => wait.hasEnded(exchange.at)).flatMap(wait => judge(wait, true))
  }

  function listen(exchange: Seen): void {
    const { at, status, requestDigest } = exchange
    const until = waitOf(exchange)
    if (until === undefined) return
    const scope = status === 429 && isExhausted(exchange) ? null : requestDigest
    const known = waits.get(scope) ?? []
    const current = known.find(wait => !wait.hasEnded(at))
    // With more time, a client that polls on would look like several that come back.
    const wait = current ?? createWait(exchange, until, isAlone ? 0.5 : 0.75, scope === null)
    if (!current) remember(waits, scope, [...known, wait])
    wait.reject(exchange)
  }

  /** Pipelined or queued for a connection, it may have been sent before the rejection was read. */
  function mayBeInFlight(exchange: Seen, { first }: Wait): boolean {
    const { at, lag, connection, overlap, isOneByOne } = exchange
    if (clients === 1 ? overlap === 'none' : isOneByOne) return false
    const last = (connection === null ? undefined : answered.get(connection)) ?? first
    // By the clock alone: on a slow machine, what is in flight together takes real time.
    return at - lag.at - (endOf(last) - last.lag.answeredAt) <= TOLERANCE
  }

  /** @param isLast whether nobody came later who may have waited */
  function judge(wait: Wait, isLast: boolean): readonly Violation[] {
    const { early } = wait
    const repeated = early.filter(({ isRepeated }) => isRepeated)
    const isCertain = certainty(wait, isLast)
    if (isCertain.repeated && repeated.length > 0) {
      return found(repeated, ruleOf(repeated), repeated.every(isPaced) ? PAUSE : '')
    }
    if (isCertain.all) return found(early, 'remaining.ignored')
    return found(repeated.length > 0 ? repeated : early, ruleOf(repeated), SHARED)
  }

  function certainty(wait: Wait, isLast: boolean) {
    if (clients !== undefined) {
      // Those in flight together are of one client, and all but one may not know of the rejection.
      const apart = wait.early.filter(({ exchange }) => exchange.overlap === 'none').length
      const isMore = wait.early.length > 0 && Math.max(1, apart) >= clients
      return { repeated: isMore, all: isMore }
    }
    const missing = wait.missing()
    const fewest = isLast && isAlone ? FEWEST_ALONE : FEWEST_MISSING
    const others = othersIn(wait)
    return {
      repeated:
        missing.repeated >= fewest.repeated ||
        wait.early.some(({ isRepeated, isAware }) => isRepeated && isAware && isAlone),
      all: missing.all >= fewest.all || others > 1 || (others === 1 && prepared >= MOST_PREPARED),
    }
  }

  function othersIn({ early }: Wait): number {
    return early.filter(({ isRepeated, isAware }) => !isRepeated && isAware && isAlone).length
  }
}

/** Without Retry-After, the window asked to wait. */
function ruleOf(repeated: readonly Early[]): string {
  const hasHeader = repeated.some(({ after }) => retryAfterOf(after) !== undefined)
  return hasHeader ? 'retry-after.early' : 'remaining.ignored'
}

const SHARED = ', perhaps from a queue or from clients that share the key'
const PAUSE = ', perhaps by a pause shorter than a second, which Retry-After cannot ask for'

/** Spec §8 demands the wait after a 429 only. */
function isPaced({ exchange, after }: Early): boolean {
  const end = endOf(after)
  const isShort = (retryAfterOf(after) ?? end) - end <= SECOND
  return isShort && after.status !== 429 && exchange.at - end > TOLERANCE
}

/** @param doubt another explanation, which makes it a note */
function found(pairs: readonly Early[], rule: string, doubt = ''): readonly Violation[] {
  if (pairs.length === 0) return []
  const number = pairs.length < MOST_SHOWN ? pairs.length : `at least ${MOST_SHOWN}`
  const end = rule === 'retry-after.early' ? 'Retry-After' : 'X-RateLimit-Reset'
  const seen = `${number} ${pairs.length === 1 ? 'request' : 'requests'} came before ${end} had passed${doubt}`
  const [exchanges, after] = [pairs.map(pair => pair.exchange), pairs.map(pair => pair.after)]
  return [{ rule, seen, exchanges, after, isLikely: doubt !== '' }]
}
