import { MINUTE } from '../../src/limits/decide.js'
import {
  type Breach,
  type Doubt,
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
  waitOf,
} from './rules.js'

/** One other request may have been prepared before its sender had read the rejection. */
const FEWEST_OTHERS = 2
/** Of several clients, two may have given up; if three are missing, one came again too early. */
const FEWEST_MISSING = { repeated: 3, all: 3 }
/** Where no two requests were ever in flight, there is one client, and it came again. */
const FEWEST_ALONE = { repeated: 1, all: FEWEST_OTHERS }

/** A response that said when to come again. */
interface Rejection {
  readonly exchange: Seen
  readonly until: number
}

/** The last rejection of a request, and everyone who sent it: clients with one key may agree. */
interface RejectedRequest extends Rejection {
  readonly senders: Senders
}

/** The time during which a key has to wait. */
interface Wait {
  until: number
  /** The first rejection after which nothing at all may be sent. */
  exhausted: Rejection | undefined
  /** The last rejection on each connection, and the latest end that was read on it. */
  readonly connections: Map<number, Rejection>
  /** Early requests whose sender certainly knew. */
  readonly certain: EarlyRequests
}

interface EarlyRequests {
  /** The rejected request once more. */
  readonly repeated: Seen[]
  readonly others: Seen[]
}

/**
 * Requests before the end of Retry-After or of an exhausted window, and bans. The README explains
 * what can be known of their senders.
 *
 * @param clients how many share the key; undefined where nobody says so
 * @param doubt makes a note of a ban that others may have caused
 */
export function watchEarly(clients: number | undefined, doubt: Doubt): Watch {
  const rejected = new Map<string, RejectedRequest>()
  const bans = createBans()
  let anyone = createSenders()
  let likely: EarlyRequests = { repeated: [], others: [] }
  let wait: Wait | undefined
  /** Whether this client certainly caused the last ban. */
  let isToBlame = false
  /** Whether this key has only ever had one request in flight, as far as its connections show. */
  let isAlone = true

  return {
    see(exchange) {
      const isOver = wait !== undefined && exchange.at >= wait.until - TOLERANCE
      const breaches = isOver ? certain() : []
      if (isOver) wait = undefined
      if (isAlone && !(exchange.overlap === 'none' && exchange.isOneByOne)) {
        isAlone = false
        doubtAll()
      }
      const ban = bans.see(exchange)
      if (ban) isToBlame = isFinding(doubt(ban))
      // A ban is the gravest reading of the requests before it, and those during it add nothing.
      if (ban && isToBlame) forget()
      // Where several clients share the key, some may only know of the wait from before the ban.
      else if (bans.lasts(exchange.at) && (isToBlame || !isAlone)) comeBack(exchange)
      else {
        judge(exchange)
        listen(exchange)
      }
      return ban ? [...breaches, ban] : breaches
    },
    open: () => [...certain(), ...uncertain()],
  }

  function forget(): void {
    rejected.clear()
    anyone = createSenders()
    likely = { repeated: [], others: [] }
    wait = undefined
  }

  /** Notes an early request by what its sender can have known. */
  function judge(exchange: Seen): void {
    const { at, connection, requestDigest, overlap, isOneByOne } = exchange
    const same = rejected.get(requestDigest)
    const isBack = comeBack(exchange)
    if (!wait) return
    const isRepeated = isEarly(exchange, same)
    const cause = isRepeated ? same : wait.exhausted
    if (!cause || !isEarly(exchange, cause)) return
    const kind = isRepeated ? 'repeated' : 'others'
    const own = connection === null ? undefined : wait.connections.get(connection)
    const hasPaused = at - endOf((own ?? cause).exchange) > TOLERANCE
    // Pipelined, it was on its way when the rejection was.
    if (overlap === 'connection' && !hasPaused) return
    // What was read on it may have asked for less.
    const hasRead =
      isEarly(exchange, own) && (!isRepeated || cause.exchange.connection === connection)
    const isCertain =
      clients === 1
        ? overlap === 'none' || hasPaused
        : isAlone && (hasRead || (isRepeated && isOwnSuccess(exchange)))
    if (isCertain) {
      show(wait.certain[kind], exchange)
      return
    }
    if (isBack[kind] || !(isOneByOne || own || (overlap === 'none' && hasPaused))) return
    show(likely[kind], exchange)
    // On a pool and without a pause, a request may have been waiting for a free connection.
    if (isOneByOne || hasPaused) (isRepeated ? same?.senders : anyone)?.suspect(exchange)
  }

  /** Counts a request as one of a sender that has waited, if it can be. @returns whether it can */
  function comeBack({ at, requestDigest }: Seen) {
    const same = rejected.get(requestDigest)
    return { repeated: same?.senders.isBack(at), others: anyone.isBack(at) }
  }

  /** Calls of this process, one after the other, that go on as if there had been no rejection. */
  function isOwnSuccess(exchange: Seen): boolean {
    const isOwn = clients === undefined && exchange.isInProcess && exchange.sequential
    return isOwn && isSuccess(exchange)
  }

  /** Another client exists, which may have sent what seemed to come from one that knew better. */
  function doubtAll(): void {
    if (!wait || clients === 1) return
    const { repeated, others } = wait.certain
    for (const exchange of repeated.splice(0)) {
      show(likely.repeated, exchange)
      rejected.get(exchange.requestDigest)?.senders.suspect(exchange)
    }
    for (const exchange of others.splice(0)) {
      show(likely.others, exchange)
      anyone.suspect(exchange)
    }
  }

  /** Notes what a response says about waiting. */
  function listen(exchange: Seen): void {
    const { requestDigest, status, connection } = exchange
    const same = rejected.get(requestDigest)
    const until = waitOf(exchange)
    if (until === undefined) {
      if (same && isSuccess(exchange)) {
        // One that was sent before this may be answered after it, and the wait was over then.
        rejected.set(requestDigest, { ...same, until: Math.min(same.until, exchange.at) })
      }
      return
    }
    const senders = same?.senders ?? createSenders()
    senders.reject(until)
    wait ??= startWait(until)
    wait.until = Math.max(wait.until, until)
    if (connection !== null) {
      const known = wait.connections.get(connection)?.until ?? until
      remember(wait.connections, connection, { exchange, until: Math.max(known, until) })
    }
    if (status === 429 && isExhausted(exchange)) {
      if (!isEarly(exchange, same)) anyone.reject(until)
      wait.exhausted = { exchange: wait.exhausted?.exchange ?? exchange, until }
    }
    remember(rejected, requestDigest, { exchange, until, senders })
  }

  function certain(): readonly Breach[] {
    if (!wait) return []
    const { until, certain } = wait
    const before = `before ${new Date(until).toISOString()}`
    const { repeated, others } = certain
    if (repeated.length > 0) {
      const seen = `a rejected request was sent again ${times(repeated.length)} ${before}`
      return [{ rule: ruleOf(repeated), seen, exchanges: repeated }]
    }
    if (others.length === 0) return []
    const seen = `${count(others.length, 'other request')} followed a rejection ${before}`
    const isLikely = others.length < FEWEST_OTHERS
    return [{ rule: 'remaining.ignored', seen, exchanges: others, isLikely }]
  }

  /** Of rejected requests that were sent again: without Retry-After, the window asked to wait. */
  function ruleOf(repeated: readonly Seen[]): RuleId {
    const hasHeader = repeated.some(({ requestDigest }) => {
      const rejection = rejected.get(requestDigest)?.exchange
      return rejection && retryAfterOf(rejection) !== undefined
    })
    return hasHeader ? 'retry-after.early' : 'remaining.ignored'
  }

  function uncertain(): readonly Breach[] {
    const repeated = [...rejected.values()].flatMap(({ senders }) => senders.missing())
    const all = [...repeated, ...anyone.missing()]
    const fewest = seemsToBeOne() ? FEWEST_ALONE : FEWEST_MISSING
    if (repeated.length >= fewest.repeated) return [missing(ruleOf(repeated), repeated)]
    if (all.length >= fewest.all) return [missing('remaining.ignored', all)]
    return [
      ...perhaps(ruleOf(likely.repeated), likely.repeated),
      ...perhaps('remaining.ignored', likely.others),
    ]
  }

  /** Whether nothing shows more than one client. */
  function seemsToBeOne(): boolean {
    if (clients !== undefined || !isAlone) return clients === 1
    return (
      !anyone.areSeveral() && ![...rejected.values()].some(({ senders }) => senders.areSeveral())
    )
  }
}

function startWait(until: number): Wait {
  const certain = { repeated: [], others: [] }
  return { until, exhausted: undefined, connections: new Map(), certain }
}

/** Whether a request came after a rejection was answered, and before its end. */
function isEarly({ n, at }: Seen, rejection: Rejection | undefined): boolean {
  if (!rejection) return false
  const { exchange, until } = rejection
  return exchange.n < n && at >= (exchange.answeredAt ?? at) && at < until - TOLERANCE
}

function isFinding(breach: Breach | undefined): boolean {
  return breach !== undefined && breach.isLikely !== true
}

function isSuccess(exchange: Seen): boolean {
  return exchange.status !== null && exchange.status < 400 && !isLost(exchange)
}

function endOf({ at, answeredAt }: Seen): number {
  return answeredAt ?? at
}

function missing(rule: RuleId, exchanges: readonly Seen[]): Breach {
  const many = exchanges.length === 1 ? 'was' : 'were'
  const seen = `${count(exchanges.length, 'request')} came too early, and ${many} not sent again after the wait`
  return { rule, seen, exchanges }
}

function perhaps(rule: RuleId, exchanges: readonly Seen[]): readonly Breach[] {
  if (exchanges.length === 0) return []
  const seen = `${count(exchanges.length, 'request')} came too early, perhaps from a queue or from clients that share the key`
  return [{ rule, seen, exchanges, isLikely: true }]
}

function show(shown: Seen[], exchange: Seen): void {
  if (shown.length < MOST_SHOWN) shown.push(exchange)
}

function times(number: number): string {
  if (number === 1) return 'once'
  return `${atLeast(number)} times`
}

function count(number: number, noun: string): string {
  return `${atLeast(number)} ${noun}${number === 1 ? '' : 's'}`
}

function atLeast(number: number): string {
  return number < MOST_SHOWN ? String(number) : `at least ${number}`
}

/**
 * Rejected clients that share a key. If each of them waits, as many return as were rejected. Where
 * fewer return, the early requests came from those that are missing.
 */
interface Senders {
  /** One more client has to wait, until an instant in ms. */
  reject(until: number): void
  /** Whether a request may come from one of them after its wait. */
  isBack(at: number): boolean
  /** An early request, by one more sender or by one of those. */
  suspect(exchange: Seen): void
  /** The suspects that were not sent again after the wait. */
  missing(): readonly Seen[]
  /** Whether more than one came back from the same wait. */
  areSeveral(): boolean
}

function createSenders(): Senders {
  let until = Number.NEGATIVE_INFINITY
  let waiting = 0
  let due = 0
  let back = 0
  let areSeveral = false
  let suspects: Seen[] = []

  return {
    reject(instant) {
      until = instant
      waiting++
    },
    isBack(at) {
      if (at >= until - TOLERANCE && waiting > 0) {
        due += waiting
        waiting = 0
        back = 0
      }
      if (due === 0) return false
      due--
      areSeveral ||= ++back > 1
      suspects = suspects.slice(0, due + waiting)
      return true
    },
    suspect(exchange) {
      if (suspects.length < MOST_SHOWN) suspects.push(exchange)
    },
    missing: () => suspects.slice(0, due + waiting),
    areSeveral: () => areSeveral,
  }
}

interface Bans {
  /** The violation when this request got the key banned. */
  see(exchange: Seen): Breach | undefined
  lasts(at: number): boolean
}

/** Follows the bans that began under our eyes; a client may also meet an earlier one. */
function createBans(): Bans {
  let minute = Number.NaN
  let rejections = 0
  let shown: Seen[] = []
  let until = Number.NEGATIVE_INFINITY
  /** A ban that began before. */
  let met: Rejection | undefined

  return {
    see(exchange) {
      const { at, answeredAt, code, fault } = exchange
      const decidedIn = Math.floor((answeredAt ?? at) / MINUTE)
      if (decidedIn !== minute) {
        minute = decidedIn
        rejections = 0
        shown = []
      }
      const isBan = code === 'api_key_banned'
      // An injected rejection does not count towards a ban, and an injected ban is none.
      if (fault === 'status' || !(isBan || code === 'rate_limit_exceeded')) return undefined
      rejections++
      show(shown, exchange)
      // Reset may be the end of the day, long after that of a ban.
      if (!isBan && isEarly(exchange, met)) met = undefined
      const isMet = isBan && rejections === 1
      if (isMet) met = { exchange, until: resetOf(exchange) ?? at }
      if (!isBan || isMet || at < Math.max(until, met?.until ?? until)) return undefined
      until = resetOf(exchange) ?? at
      const seen = `the ${rejections} rejections of one minute banned the key until ${new Date(until).toISOString()}`
      return { rule: 'ban.risked', seen, exchanges: shown }
    },
    lasts: at => at < until,
  }
}
