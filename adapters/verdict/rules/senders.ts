import { MOST_SHOWN, type Seen, TOLERANCE } from './rule.js'

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
  /** The suspects that were not sent again after the wait. */
  missing(): readonly Seen[]
  /** Whether more than one came back from the same wait. */
  areSeveral(): boolean
}

export function createSenders(): Senders {
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
