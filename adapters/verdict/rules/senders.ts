import { MOST_SHOWN, type Pair, TOLERANCE } from './rule.js'

/**
 * Rejected clients that share a key. If each of them waits, as many return as were rejected. Where
 * fewer return, the early requests came from those that are missing.
 */
export function createSenders() {
  let until = Number.NEGATIVE_INFINITY
  let waiting = 0
  let due = 0
  let back = 0
  let areSeveral = false
  let suspects: Pair[] = []

  return {
    /** One more client has to wait, until an instant in ms. */
    reject(instant: number): void {
      until = instant
      waiting++
    },
    /** Whether a request may come from one of them after its wait. */
    isBack(at: number): boolean {
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
    /** An early request, by one more sender or by one of those. */
    suspect(pair: Pair): void {
      if (suspects.length < MOST_SHOWN) suspects.push(pair)
    },
    /** The suspects, as far as fewer came back than were rejected. */
    missing: (): readonly Pair[] => suspects.slice(0, due + waiting),
    /** Whether more than one came back from the same wait. */
    areSeveral: () => areSeveral,
  }
}

export type Senders = ReturnType<typeof createSenders>
