import type { Clock } from '../../../src/ports.js'
import type { Exchange } from '../exchange.js'
import { createLedger, type Ledger } from './ledger.js'
import { createPeriod } from './period.js'
import type { Report } from './report.js'
import type { RuleId } from './rules.js'

/** Judges every exchange once, however often a double is reset. */
export interface Verdict {
  /**
   * Starts a period that a reset ends.
   *
   * @param where its name in reports since the start; null for the first
   * @param restored what the journal holds at its start. Reports since the start leave it out
   */
  record(where: string | null, now: Clock, restored?: Restored): Recording
  /** On everything since the start. */
  report(): Report
  readonly ledger: Ledger
}

/** A period. */
export interface Recording {
  /** A request has arrived. */
  arrive(): void
  /** It has been answered, or never will be. Called in the order of the answers. */
  see(exchange: Exchange): void
  /** Leaves everything up to this exchange out of `report`. */
  clear(n: number): void
  /** On everything since the period began or was cleared, and on what was restored. */
  report(): Report
  end(): void
}

/** As much of a journal as is judged. */
export interface Restored {
  readonly exchanges: readonly Exchange[]
  /** The `n` of the last exchange. */
  readonly received: number
}

/** The verdict on all worlds, and which of them this is. */
export interface Above {
  readonly verdict: Verdict
  readonly world: string
}

const NOTHING: Restored = { exchanges: [], received: 0 }

/**
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 * @param above also reports everything, as of that world
 * @param clients how many share a key; undefined where nobody says so
 */
export function createVerdict(
  allow: readonly RuleId[] = [],
  above?: Above,
  clients?: number,
): Verdict {
  const ledger = createLedger(allow)

  return {
    ledger,
    report: ledger.report,
    record(where, now, restored = NOTHING) {
      const period = createPeriod(now, clients)
      let sinceClear = createLedger(allow)
      let page = sinceClear.open(null, period, 0)
      for (const _ of restored.exchanges) page.arrive()
      for (const exchange of answered(restored)) page.add(period.see(exchange))
      const sinceStart = [ledger.open(where, period, restored.received)]
      if (above) {
        const place = where === null ? `world ${above.world}` : `world ${above.world}, ${where}`
        sinceStart.push(above.verdict.ledger.open(place, period, restored.received))
      }
      return {
        arrive() {
          page.arrive()
          for (const other of sinceStart) other.arrive()
        },
        see(exchange) {
          const breaches = period.see(exchange)
          if (breaches.length === 0) return
          page.add(breaches)
          for (const other of sinceStart) other.add(breaches)
        },
        clear(n) {
          sinceClear = createLedger(allow)
          page = sinceClear.open(null, period, n)
        },
        report: () => sinceClear.report(),
        end() {
          for (const other of sinceStart) other.end()
        },
      }
    },
  }
}

/** In the order of the answers, as `see` would have been called. */
function answered({ exchanges }: Restored): readonly Exchange[] {
  return exchanges
    .filter(({ answeredAt, fault }) => answeredAt !== null || fault === 'hang')
    .sort((one, other) => endOf(one) - endOf(other) || one.n - other.n)
}

function endOf({ at, answeredAt }: Exchange): number {
  return answeredAt ?? at
}
