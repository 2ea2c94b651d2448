import { MINUTE } from '../../../src/limits/decide.js'
import {
  type Breach,
  isExhausted,
  isLost,
  MOST_SHOWN,
  type RuleId,
  remember,
  resetOf,
  type Seen,
  TOLERANCE,
  type Watch,
  waitOf,
} from './rules.js'

/** One other request may have been prepared before its sender had read the rejection. */
const FEWEST_OTHERS = 2
/** Two senders may have given up; of three, one came again too early. */
const FEWEST_MISSING = 3

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
  /** The last rejection on each connection. */
  readonly connections: Map<number, Seen>
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
 */
export function watchEarly(): Watch {
  const rejected = new Map<string, RejectedRequest>()
  const bans = createBans()
  let anyone = createSenders()
  let likely: EarlyRequests = { repeated: [], others: [] }
  let wait: Wait | undefined
  /** Whether this key has only ever had one connection at a time. */
  let hasOneSender = true

  return {
    see(exchange) {
      const isOver = wait !== undefined && exchange.at >= wait.until - TOLERANCE
      const breaches = isOver ? certain() : []
      if (isOver) wait = undefined
      hasOneSender &&= exchange.sequential
      const ban = bans.see(exchange)
      // A ban is the gravest reading of the requests before it, and those during it add nothing.
      if (ban) forget()
      else if (!bans.lasts(exchange.at)) {
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
    const { at, connection, requestDigest, isOneByOne } = exchange
    const same = rejected.get(requestDigest)
    const isBack = { repeated: same?.senders.isBack(at), others: anyone.isBack(at) }
    if (!wait) return
    const isRepeated = isEarly(exchange, same)
    if (!isRepeated && !isEarly(exchange, wait.exhausted)) return
    const kind = isRepeated ? 'repeated' : 'others'
    const last = connection === null ? undefined : wait.connections.get(connection)
    const hasRead = last && (!isRepeated || same?.exchange.connection === connection)
    if (hasOneSender && hasRead) {
      show(wait.certain[kind], exchange)
      return
    }
    if (isBack[kind] || !(isOneByOne || last)) return
    show(likely[kind], exchange)
    // On a pool and without a pause, a request may have been waiting for a free connection.
    const hasPaused = last !== undefined && at - (last.answeredAt ?? last.at) > TOLERANCE
    if (isOneByOne || hasPaused) (isRepeated ? same?.senders : anyone)?.suspect(exchange)
  }

  /** Notes what a response says about waiting. */
  function listen(exchange: Seen): void {
    const { requestDigest, status, connection } = exchange
    const same = rejected.get(requestDigest)
    const until = waitOf(exchange)
    if (until === undefined) {
      const isSuccess = status !== null && status < 400 && !isLost(exchange)
      if (same && isSuccess) rejected.set(requestDigest, { ...same, until: exchange.at })
      return
    }
    const senders = same?.senders ?? createSenders()
    senders.reject(until)
    wait ??= startWait(until)
    wait.until = Math.max(wait.until, until)
    if (connection !== null) remember(wait.connections, connection, exchange)
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
      return [{ rule: 'retry-after.early', seen, exchanges: repeated }]
    }
    if (others.length === 0) return []
    const seen = `${count(others.length, 'other request')} followed a rejection ${before}`
    const isLikely = others.length < FEWEST_OTHERS
    return [{ rule: 'remaining.ignored', seen, exchanges: others, isLikely }]
  }

  function uncertain(): readonly Breach[] {
    const repeated = [...rejected.values()].flatMap(({ senders }) => senders.missing())
    const all = [...repeated, ...anyone.missing()]
    if (repeated.length >= FEWEST_MISSING) return [missing('retry-after.early', repeated)]
    if (all.length >= FEWEST_MISSING) return [missing('remaining.ignored', all)]
    return [
      ...perhaps('retry-after.early', likely.repeated),
      ...perhaps('remaining.ignored', likely.others),
    ]
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

function missing(rule: RuleId, exchanges: readonly Seen[]): Breach {
  const seen = `${count(exchanges.length, 'request')} came too early, and nobody came back for them later`
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
  /** The suspects for which nobody came back. */
  missing(): readonly Seen[]
}

function createSenders(): Senders {
  let until = Number.NEGATIVE_INFINITY
  let waiting = 0
  let due = 0
  let suspects: Seen[] = []

  return {
    reject(instant) {
      until = instant
      waiting++
    },
    isBack(at) {
      if (at >= until - TOLERANCE) {
        due += waiting
        waiting = 0
      }
      if (due === 0) return false
      due--
      suspects = suspects.slice(0, due + waiting)
      return true
    },
    suspect(exchange) {
      if (suspects.length < MOST_SHOWN) suspects.push(exchange)
    },
    missing: () => suspects.slice(0, due + waiting),
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
      if (!isBan || rejections === 1 || at < until) return undefined
      until = resetOf(exchange) ?? at
      const seen = `the ${rejections} rejections of one minute banned the key until ${new Date(until).toISOString()}`
      return { rule: 'ban.risked', seen, exchanges: shown }
    },
    lasts: at => at < until,
  }
}
