import { isExhausted, isLost, type Pair, remember, type Seen, TOLERANCE, waitOf } from './rule.js'
import { createSenders, type Senders } from './senders.js'

/** A response that said when to come again. */
export interface Rejection {
  readonly exchange: Seen
  readonly until: number
}

/** A request during a wait that applies to it. */
export interface Early {
  /** Whether it is the rejected request once more, or another one while nothing remains. */
  readonly kind: Kind
  /** Why it had to wait. */
  readonly cause: Rejection
  /** The last rejection on its connection. */
  readonly own: Rejection | undefined
}

export type Kind = 'repeated' | 'others'

/** The time during which a key has to wait. */
interface Wait {
  until: number
  /** The first rejection after which nothing at all may be sent. */
  exhausted: Rejection | undefined
  /** The last rejection on each connection, and the latest end that was read on it. */
  readonly connections: Map<number, Rejection>
}

/** The rejections of a key: who has to wait, and who has come back. */
export function createRejections() {
  const rejected = new Map<string, Rejection & { readonly senders: Senders }>()
  const anyone = createSenders()
  let wait: Wait | undefined

  return {
    /** Whether the wait that was going on is over by then. */
    isOver(at: number): boolean {
      const isOver = wait !== undefined && at >= wait.until - TOLERANCE
      if (isOver) wait = undefined
      return isOver
    },
    earlyOf(exchange: Seen): Early | undefined {
      if (!wait) return undefined
      const same = rejected.get(exchange.requestDigest)
      const isRepeated = isEarly(exchange, same)
      const cause = isRepeated ? same : wait.exhausted
      if (!cause || !isEarly(exchange, cause)) return undefined
      const own =
        exchange.connection === null ? undefined : wait.connections.get(exchange.connection)
      return { kind: isRepeated ? 'repeated' : 'others', cause, own }
    },
    /** Counts a request as one of a sender that has waited, if it can be. @returns whether it can */
    comeBack: ({ at, requestDigest }: Seen) => ({
      repeated: rejected.get(requestDigest)?.senders.isBack(at) ?? false,
      others: anyone.isBack(at),
    }),
    /** Counts an early request as one of a sender that has not. */
    suspect(kind: Kind, pair: Pair): void {
      const { requestDigest } = pair.exchange
      const senders = kind === 'others' ? anyone : rejected.get(requestDigest)?.senders
      senders?.suspect(pair)
    },
    /** Early requests that fewer senders came back for than were rejected. */
    missing(kind: Kind): readonly Pair[] {
      if (kind === 'others') return anyone.missing()
      return [...rejected.values()].flatMap(({ senders }) => senders.missing())
    },
    /** Whether more than one sender came back from the same wait. */
    areSeveral: () =>
      anyone.areSeveral() || [...rejected.values()].some(({ senders }) => senders.areSeveral()),
    /** Notes what a response says about waiting. */
    listen(exchange: Seen): void {
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
      wait ??= { until, exhausted: undefined, connections: new Map() }
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
    },
  }
}

/** Whether a request came after a rejection was answered, and before its end. */
export function isEarly({ n, at }: Seen, rejection: Rejection | undefined): boolean {
  if (!rejection) return false
  const { exchange, until } = rejection
  return exchange.n < n && at >= (exchange.answeredAt ?? at) && at < until - TOLERANCE
}

export function isSuccess(exchange: Seen): boolean {
  return exchange.status !== null && exchange.status < 400 && !isLost(exchange)
}
