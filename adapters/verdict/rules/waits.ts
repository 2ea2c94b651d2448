import { BANS, createBans } from './bans.js'
import { createRejections, type Early, isEarly, isSuccess, type Kind } from './rejections.js'
import {
  type CreateWatch,
  endOf,
  MOST_SHOWN,
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

/** One other request may have been prepared before its sender had read the rejection. */
const FEWEST_OTHERS = 2
/** Of several clients, two may have given up; if three are missing, one came again too early. */
const FEWEST_MISSING = { repeated: 3, all: 3 }
/** Where no two requests were ever in flight, there is one client, and it came again. */
const FEWEST_ALONE = { repeated: 1, all: FEWEST_OTHERS }

type EarlyRequests = Readonly<Record<Kind, Seen[]>>

/**
 * Requests before the end of Retry-After or of an exhausted window, and bans. The page explains what
 * can be known of their senders.
 *
 * @param doubt makes a note of a ban that others may have caused
 */
export const watchWaits: CreateWatch = (clients, doubt) => {
  const bans = createBans()
  let rejections = createRejections()
  /** Early requests of the current wait whose sender certainly knew, */
  let certain = noRequests()
  /** and those of all waits whose sender perhaps knew. */
  let likely = noRequests()
  /** Whether this client certainly caused the last ban. */
  let isToBlame = false
  /** Whether this key has only ever had one request in flight, as far as its connections show. */
  let isAlone = true

  return {
    see(exchange) {
      const violations = endWait(exchange.at)
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
      }
      return ban ? [...violations, ban] : violations
    },
    open: () => [...certainly(rejections.until()), ...uncertain()],
  }

  function endWait(at: number): readonly Violation[] {
    const until = rejections.until()
    if (!rejections.isOver(at)) return []
    const violations = certainly(until)
    certain = noRequests()
    return violations
  }

  function forget(): void {
    rejections = createRejections()
    certain = noRequests()
    likely = noRequests()
  }

  function judge(exchange: Seen): void {
    const isBack = rejections.comeBack(exchange)
    const early = rejections.earlyOf(exchange)
    if (!early) return
    const { kind } = early
    const knowledge = knowledgeOf(exchange, early, isAlone, clients)
    if (knowledge === 'certain') show(certain[kind], exchange)
    else if (knowledge !== 'none' && !isBack[kind]) {
      show(likely[kind], exchange)
      if (knowledge === 'likely') rejections.suspect(kind, exchange)
    }
  }

  /** Another client exists, which may have sent what seemed to come from one that knew better. */
  function doubtAll(): void {
    for (const kind of ['repeated', 'others'] as const) {
      for (const exchange of certain[kind].splice(0)) {
        show(likely[kind], exchange)
        rejections.suspect(kind, exchange)
      }
    }
  }

  function certainly(until = 0): readonly Violation[] {
    const { repeated, others } = certain
    const before = `before ${new Date(until).toISOString()}`
    if (repeated.length > 0) {
      const seen = `a rejected request was sent again ${times(repeated.length)} ${before}`
      return [{ rule: ruleOf(repeated), seen, exchanges: repeated }]
    }
    if (others.length === 0) return []
    const seen = `${count(others.length, 'other request')} followed a rejection ${before}`
    const isLikely = others.length < FEWEST_OTHERS
    return [{ rule: 'remaining.ignored', seen, exchanges: others, isLikely }]
  }

  function uncertain(): readonly Violation[] {
    const repeated = rejections.missing('repeated')
    const all = [...repeated, ...rejections.missing('others')]
    const isOne = clients === undefined ? isAlone && !rejections.areSeveral() : clients === 1
    const fewest = isOne ? FEWEST_ALONE : FEWEST_MISSING
    if (repeated.length >= fewest.repeated) return [missing(ruleOf(repeated), repeated)]
    if (all.length >= fewest.all) return [missing('remaining.ignored', all)]
    return [
      ...perhaps(ruleOf(likely.repeated), likely.repeated),
      ...perhaps('remaining.ignored', likely.others),
    ]
  }

  /** Of rejected requests that were sent again: without Retry-After, the window asked to wait. */
  function ruleOf(repeated: readonly Seen[]): string {
    const hasHeader = repeated.some(exchange => {
      const rejection = rejections.of(exchange)?.exchange
      return rejection && retryAfterOf(rejection) !== undefined
    })
    return hasHeader ? 'retry-after.early' : 'remaining.ignored'
  }
}

/**
 * What the sender of an early request knew of the rejection: it certainly knew, likely, perhaps, or
 * cannot have known.
 */
function knowledgeOf(
  exchange: Seen,
  { kind, cause, own }: Early,
  isAlone: boolean,
  clients: number | undefined,
): 'certain' | 'likely' | 'perhaps' | 'none' {
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

function missing(rule: string, exchanges: readonly Seen[]): Violation {
  const many = exchanges.length === 1 ? 'was' : 'were'
  const seen = `${count(exchanges.length, 'request')} came too early, and ${many} not sent again after the wait`
  return { rule, seen, exchanges }
}

function perhaps(rule: string, exchanges: readonly Seen[]): readonly Violation[] {
  if (exchanges.length === 0) return []
  const seen = `${count(exchanges.length, 'request')} came too early, perhaps from a queue or from clients that share the key`
  return [{ rule, seen, exchanges, isLikely: true }]
}

function show(shown: Seen[], exchange: Seen): void {
  if (shown.length < MOST_SHOWN) shown.push(exchange)
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
