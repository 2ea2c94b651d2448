import { BANS, createBans } from './bans.js'
import { createPersistence } from './persistence.js'
import { createRejections, type Early, isEarly, isSuccess, type Kind } from './rejections.js'
import {
  type CreateWatch,
  endOf,
  MOST_SHOWN,
  type Pair,
  type Rule,
  retryAfterOf,
  type Seen,
  TOLERANCE,
  type Violation,
} from './rule.js'

/** Rules about the time after a rejection. The first one that is broken is the most severe. */
export const WAIT_RULES = [
  BANS,
  {
    id: 'retry-after.early',
    fix: 'Wait at least as long as Retry-After says, then send the request again.',
    violatedBy: 'sending a rejected request again before the end of its Retry-After',
    isGeneral: true,
  },
  {
    id: 'remaining.ignored',
    fix: 'At X-RateLimit-Remaining 0, send nothing before X-RateLimit-Reset.',
    violatedBy: 'sending other requests after a rejection at Remaining 0, before Reset',
    isGeneral: true,
  },
] as const satisfies readonly Rule[]

/**
 * A polite client may have prepared one other request before it had read the rejection: that is chance
 * in up to two waits.
 */
const FEWEST_OTHERS = 2
const FEWEST_WAITS = 3
/** Of several clients, two may have given up; if three are missing, one came again too early. */
const FEWEST_MISSING = { repeated: 3, all: 3 }
/** Where no two requests were ever in flight, there is one client, and it came again. */
const FEWEST_ALONE = { repeated: 1, all: FEWEST_OTHERS }

type EarlyRequests = Record<Kind, Pair[]>
const KINDS = ['repeated', 'others'] as const

/**
 * Requests before the end of Retry-After or of an exhausted window, and bans. The page explains what
 * can be known of their senders.
 *
 * @param doubt makes a note of a ban that others may have caused
 */
export const watchWaits: CreateWatch = (clients, doubt) => {
  const bans = createBans()
  let rejections = createRejections()
  let persistence = createPersistence()
  /** Early requests of the current wait whose sender certainly knew, */
  let certain = noRequests()
  /** the only one in each of the waits before, */
  let singles: Pair[] = []
  /** and those of all waits whose sender perhaps knew. */
  let likely = noRequests()
  /** Whether this client certainly caused the last ban. */
  let isToBlame = false
  /** Whether this key has only ever had one request in flight, as far as its connections show. */
  let isAlone = true

  return {
    see(exchange) {
      const violations = [...endWait(exchange.at), ...settle(exchange.at)]
      if (isAlone && !(exchange.overlap === 'none' && exchange.isOneByOne)) {
        isAlone = false
        if (clients !== 1) doubtAll()
      }
      const ban = bans.see(exchange)
      if (ban) isToBlame = isFinding(doubt(ban))
      // A ban replaces the findings that led to it; requests during it add none.
      if (ban && isToBlame) forget()
      // Where several clients share the key, some may only know of the wait from before the ban.
      else if (bans.lasts(exchange.at) && (isToBlame || !isAlone)) rejections.comeBack(exchange)
      else {
        judge(exchange)
        rejections.listen(exchange)
        persistence.listen(exchange)
      }
      return ban ? [...violations, ban] : violations
    },
    open() {
      const { repeated, others } = certain
      const isSingle = repeated.length === 0 && others.length < FEWEST_OTHERS
      const unsettled = persistence.open().map(persistent)
      return [
        ...(isSingle ? habit([...singles, ...others]) : [...habit(singles), ...certainly()]),
        ...(unsettled.length > 0 ? unsettled : uncertain()),
      ]
    },
  }

  function endWait(at: number): readonly Violation[] {
    const until = rejections.until()
    if (!rejections.isOver(at)) return []
    const { repeated, others } = certain
    const isSingle = repeated.length === 0 && others.length < FEWEST_OTHERS
    const violations = isSingle ? [] : certainly(until)
    if (isSingle) for (const pair of others) show(singles, pair)
    certain = noRequests()
    return violations
  }

  /** What is blamed on a connection is no longer a note. */
  function settle(at: number): readonly Violation[] {
    const blamed = persistence.settle(at)
    for (const kind of blamed.length === 0 ? [] : KINDS) {
      likely[kind] = likely[kind].filter(pair => !blamed.some(pairs => pairs.includes(pair)))
    }
    return blamed.map(persistent)
  }

  function forget(): void {
    rejections = createRejections()
    persistence = createPersistence()
    certain = noRequests()
    singles = []
    likely = noRequests()
  }

  function judge(exchange: Seen): void {
    const isBack = rejections.comeBack(exchange)
    const early = rejections.earlyOf(exchange)
    if (!early) return
    const { kind, cause } = early
    const knowledge = knowledgeOf(exchange, early, isAlone, clients)
    const pair = { exchange, after: cause.exchange }
    if (knowledge === 'certain') show(certain[kind], pair)
    else if (knowledge !== 'none' && !isBack[kind]) {
      show(likely[kind], pair)
      if (knowledge === 'perhaps') return
      rejections.suspect(kind, pair)
      if (knowledge === 'on its connection') persistence.add(pair)
    }
  }

  /** Another client exists, which may have sent what seemed to come from one that knew better. */
  function doubtAll(): void {
    for (const kind of KINDS) {
      for (const pair of certain[kind].splice(0)) {
        show(likely[kind], pair)
        rejections.suspect(kind, pair)
      }
    }
  }

  function certainly(until = rejections.until() ?? 0): readonly Violation[] {
    const { repeated, others } = certain
    const before = `before ${new Date(until).toISOString()}`
    if (repeated.length > 0) {
      const seen = `a rejected request was sent again ${times(repeated.length)} ${before}`
      return [violationOf(ruleOf(repeated), seen, repeated)]
    }
    const seen = `${count(others.length, 'other request')} followed a rejection ${before}`
    return [violationOf('remaining.ignored', seen, others)]
  }

  function uncertain(): readonly Violation[] {
    const repeated = rejections.missing('repeated')
    const all = [...repeated, ...rejections.missing('others')]
    const isOne = clients === undefined ? isAlone && !rejections.areSeveral() : clients === 1
    const fewest = isOne ? FEWEST_ALONE : FEWEST_MISSING
    if (repeated.length >= fewest.repeated) return [early(ruleOf(repeated), repeated)]
    if (all.length >= fewest.all) return [early('remaining.ignored', all)]
    return [
      ...perhaps(ruleOf(likely.repeated), likely.repeated),
      ...perhaps('remaining.ignored', likely.others),
    ]
  }
}

/** Without Retry-After, the window asked to wait. */
function ruleOf(pairs: readonly Pair[]): string {
  const hasHeader = pairs.some(({ after }) => retryAfterOf(after) !== undefined)
  return hasHeader ? 'retry-after.early' : 'remaining.ignored'
}

function persistent(pairs: readonly Pair[]): Violation {
  return early(ruleOf(pairs), pairs)
}

function early(rule: string, pairs: readonly Pair[]): Violation {
  const end = rule === 'retry-after.early' ? 'Retry-After' : 'X-RateLimit-Reset'
  const were = `${count(pairs.length, 'request')} ${pairs.length === 1 ? 'was' : 'were'}`
  return violationOf(rule, `${were} sent before ${end} had passed`, pairs)
}

function habit(singles: readonly Pair[]): readonly Violation[] {
  if (singles.length === 0) return []
  const waits =
    singles.length === 1 ? 'a rejection' : `each of ${atLeast(singles.length)} rejections`
  const seen = `one other request followed ${waits} too early`
  return [violationOf('remaining.ignored', seen, singles, singles.length < FEWEST_WAITS)]
}

/**
 * What the sender of an early request knew of the rejection: it certainly knew, it read it on this
 * connection, it likely or perhaps knew, or cannot have known.
 */
function knowledgeOf(
  exchange: Seen,
  { kind, cause, own }: Early,
  isAlone: boolean,
  clients: number | undefined,
): 'certain' | 'on its connection' | 'likely' | 'perhaps' | 'none' {
  const { at, connection, overlap, isOneByOne, isInProcess, sequential } = exchange
  const hasPaused = at - endOf((own ?? cause).exchange) > TOLERANCE
  // Pipelined, it was on its way when the rejection was.
  if (overlap === 'connection' && !hasPaused) return 'none'
  // What was read on its connection may have asked for less.
  const hasRead =
    isEarly(exchange, own) && (kind === 'others' || cause.exchange.connection === connection)
  // Calls of this process, one after the other, that go on as if there had been no rejection.
  const isOwnSuccess =
    clients === undefined && kind === 'repeated' && isInProcess && sequential && isSuccess(exchange)
  const isCertain =
    clients === 1 ? overlap === 'none' || hasPaused : isAlone && (hasRead || isOwnSuccess)
  if (isCertain) return 'certain'
  if (hasRead && hasPaused) return 'on its connection'
  if (!(isOneByOne || own || (overlap === 'none' && hasPaused))) return 'none'
  // On a pool and without a pause, a request may have been waiting for a free connection.
  return isOneByOne || hasPaused ? 'likely' : 'perhaps'
}

function noRequests(): EarlyRequests {
  return { repeated: [], others: [] }
}

function isFinding(violation: Violation | undefined): boolean {
  return violation !== undefined && violation.isLikely !== true
}

function violationOf(
  rule: string,
  seen: string,
  pairs: readonly Pair[],
  isLikely = false,
): Violation {
  const [exchanges, after] = [pairs.map(pair => pair.exchange), pairs.map(pair => pair.after)]
  return { rule, seen, exchanges, after, isLikely }
}

function perhaps(rule: string, pairs: readonly Pair[]): readonly Violation[] {
  if (pairs.length === 0) return []
  const seen = `${count(pairs.length, 'request')} came too early, perhaps from a queue or from clients that share the key`
  return [violationOf(rule, seen, pairs, true)]
}

function show(shown: Pair[], pair: Pair): void {
  if (shown.length < MOST_SHOWN) shown.push(pair)
}

function times(number: number): string {
  return number === 1 ? 'once' : `${atLeast(number)} times`
}

function count(number: number, noun: string): string {
  return `${atLeast(number)} ${noun}${number === 1 ? '' : 's'}`
}

function atLeast(number: number): string {
  return number < MOST_SHOWN ? String(number) : `at least ${number}`
}
