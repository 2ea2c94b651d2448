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
  },
  {
    id: 'remaining.ignored',
    fix: 'At X-RateLimit-Remaining 0, send nothing before X-RateLimit-Reset.',
    violatedBy: 'sending other requests after a rejection at Remaining 0, before Reset',
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
  let certain = createCertain()
  /** Early requests whose sender perhaps knew. */
  let likely = noRequests()
  /** Whether this client certainly caused the last ban. */
  let isToBlame = false
  /** Whether this key has only ever had one request in flight, as far as its connections show. */
  let isAlone = true

  return {
    see(exchange) {
      const isOver = rejections.isOver(exchange.at)
      const violations = [...(isOver ? certain.end() : []), ...settle(exchange.at)]
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
      const unsettled = persistence.open()
      return [
        ...certain.open(),
        ...(unsettled.length > 0 ? unsettled.flatMap(pairs => early(pairs)) : uncertain()),
      ]
    },
  }

  /** What is blamed on a connection is no longer a note. */
  function settle(at: number): readonly Violation[] {
    const blamed = persistence.settle(at)
    for (const kind of blamed.length === 0 ? [] : KINDS) {
      likely[kind] = likely[kind].filter(pair => !blamed.some(pairs => pairs.includes(pair)))
    }
    return blamed.flatMap(pairs => early(pairs))
  }

  function forget(): void {
    rejections = createRejections()
    persistence = createPersistence()
    certain = createCertain()
    likely = noRequests()
  }

  function judge(exchange: Seen): void {
    const isBack = rejections.comeBack(exchange)
    const early = rejections.earlyOf(exchange)
    if (!early) return
    const { kind, cause } = early
    const knowledge = knowledgeOf(exchange, early, isAlone, clients)
    const pair = { exchange, after: cause.exchange }
    if (knowledge === 'certain') certain.add(kind, pair)
    else if (knowledge !== 'none' && !isBack[kind]) {
      show(likely[kind], pair)
      if (knowledge === 'perhaps') return
      rejections.suspect(kind, pair)
      if (knowledge === 'on its connection') persistence.add(pair)
    }
  }

  /** Another client exists, which may have sent what seemed to come from one that knew better. */
  function doubtAll(): void {
    const doubted = certain.takeBack()
    for (const kind of KINDS) {
      for (const pair of doubted[kind]) {
        show(likely[kind], pair)
        rejections.suspect(kind, pair)
      }
    }
  }

  function uncertain(): readonly Violation[] {
    const repeated = rejections.missing('repeated')
    const all = [...repeated, ...rejections.missing('others')]
    const isOne = clients === undefined ? isAlone && !rejections.areSeveral() : clients === 1
    const fewest = isOne ? FEWEST_ALONE : FEWEST_MISSING
    if (repeated.length >= fewest.repeated) return early(repeated)
    if (all.length >= fewest.all) return early(all, 'remaining.ignored')
    return [
      ...early(likely.repeated, ruleOf(likely.repeated), true),
      ...early(likely.others, 'remaining.ignored', true),
    ]
  }
}

/** Without Retry-After, the window asked to wait. */
function ruleOf(pairs: readonly Pair[]): string {
  const hasHeader = pairs.some(({ after }) => retryAfterOf(after) !== undefined)
  return hasHeader ? 'retry-after.early' : 'remaining.ignored'
}

/** Early requests of the current wait whose sender certainly knew. */
function createCertain() {
  let current = noRequests()
  /** The only one in each of the waits before. */
  const singles: Pair[] = []

  return {
    add: (kind: Kind, pair: Pair) => show(current[kind], pair),
    takeBack(): EarlyRequests {
      const all = current
      current = noRequests()
      return all
    },
    /** The wait is over. */
    end(): readonly Violation[] {
      const violations = several()
      for (const pair of single()) show(singles, pair)
      current = noRequests()
      return violations
    },
    open(): readonly Violation[] {
      const all = [...singles, ...single()]
      return [...several(), ...early(all, 'remaining.ignored', all.length < FEWEST_WAITS)]
    },
  }

  function several(): readonly Violation[] {
    const { repeated, others } = current
    if (repeated.length > 0) return early(repeated)
    return others.length < FEWEST_OTHERS ? [] : early(others, 'remaining.ignored')
  }

  function single(): readonly Pair[] {
    const { repeated, others } = current
    return repeated.length === 0 && others.length < FEWEST_OTHERS ? others : []
  }
}

function early(
  pairs: readonly Pair[],
  rule = ruleOf(pairs),
  isLikely = false,
): readonly Violation[] {
  if (pairs.length === 0) return []
  const number = pairs.length < MOST_SHOWN ? pairs.length : `at least ${MOST_SHOWN}`
  const end = rule === 'retry-after.early' ? 'Retry-After' : 'X-RateLimit-Reset'
  const why = isLikely ? ', perhaps from a queue or from clients that share the key' : ''
  const seen = `${number} ${pairs.length === 1 ? 'request' : 'requests'} came before ${end} had passed${why}`
  const [exchanges, after] = [pairs.map(pair => pair.exchange), pairs.map(pair => pair.after)]
  return [{ rule, seen, exchanges, after, isLikely }]
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

function isFinding(violation: Violation): boolean {
  return violation.isLikely !== true
}

function show(shown: Pair[], pair: Pair): void {
  if (shown.length < MOST_SHOWN) shown.push(pair)
}
