import { MOST_SHOWN, type Seen } from './rules.js'

/** Timers may fire a little early, and a clock may be read a little late. In ms. */
export const TOLERANCE = 100

/** The end of the wait that a response asks for, in ms; undefined without one. */
export function waitOf(exchange: Seen): number | undefined {
  if (isLost(exchange)) return undefined
  const { answeredAt, status, headers } = exchange
  const until = retryAfterOf(exchange)
  if (answeredAt === null || status === null || status < 400) return undefined
  if (until === undefined || until <= answeredAt) return undefined
  // Whole seconds end a little after the window does; a client that reads Reset may come right then.
  return isExhausted(exchange)
    ? Math.min(until, Number(headers['x-ratelimit-reset']) * 1000)
    : until
}

/** Seconds or an HTTP-date, as ms since the epoch; undefined where the header says neither. */
export function retryAfterOf({ headers, answeredAt }: Seen): number | undefined {
  const text = headers['retry-after']
  if (text === undefined || answeredAt === null) return undefined
  const until = /^\d+$/.test(text) ? answeredAt + Number(text) * 1000 : Date.parse(text)
  return Number.isNaN(until) ? undefined : until
}

/** Whether the response says that nothing is left for now. */
export function isExhausted({ headers }: Seen): boolean {
  return headers['x-ratelimit-remaining'] === '0'
}

/** Whether the response never reached the client as it was sent. */
export function isLost({ fault }: Seen): boolean {
  return fault === 'reset' || fault === 'hang' || fault === 'truncate' || fault === 'malformed'
}

/**
 * Rejected clients that share a key. If each of them waits, as many return as were rejected. Where
 * fewer return, the early requests came from those that are missing.
 */
export interface Senders {
  /** One more client has to wait, until an instant in ms. */
  reject(until: number): void
  /** Whether a request may come from one of them after its wait. */
  isBack(at: number): boolean
  /** An early request, by one more sender or by one of those. */
  suspect(exchange: Seen): void
  /** The suspects for which nobody came back. */
  missing(): readonly Seen[]
}

export function createSenders(): Senders {
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
