import type { Clock } from '../../src/ports.js'
import type { Outline } from '../exchanges/exchange.js'
import { createLedger, type Ledger } from './ledger.js'
import { createPeriod } from './period.js'
import type { Report } from './report.js'
import type { Doubt, RuleId } from './rules.js'
import type { FaultUse } from './unused.js'

/** Judges every exchange once, however often a double is reset. */
export interface Verdict {
  /**
   * Starts a period that a reset ends.
   *
   * @param where its name in reports since the start; null for the first
   */
  record(where: string | null, source: Source): Recording
  /** On everything since the start. */
  report(): Report
  readonly ledger: Ledger
}

/** Where the exchanges of a period come from. */
export interface Source {
  readonly now: Clock
  /** What the journal holds at its start. Reports since the start leave it out. */
  readonly restored?: Restored | undefined
  /** The faults of the period; none where nothing injects any. */
  readonly faults?: FaultUse | undefined
  /** What is left of each violation; all of it where everything is known. */
  readonly doubt?: Doubt | undefined
  /** Called before a report, for sources that do not pass on exchanges at once. */
  readonly catchUp?: () => void
}

/** As much of a journal as is judged. */
export interface Restored {
  readonly exchanges: readonly Outline[]
  /** The `n` of the last exchange. */
  readonly received: number
}

/** A period. */
export interface Recording {
  /** This many requests have arrived. */
  arrive(count: number): void
  /** A request has been answered, or never will be. Called in the order of the answers. */
  see(exchange: Outline): void
  /** Leaves everything up to this exchange out of `report`. */
  clear(n: number): void
  /** On everything since the period began or was cleared, and on what was restored. */
  report(): Report
  /** What is seen after that still counts. */
  end(): void
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
  const ledger = createLedger('start', allow)

  return {
    ledger,
    report: ledger.report,
    record(where, { now, restored = NOTHING, faults, doubt, catchUp = () => {} }) {
      let [isOver, isJudged] = [false, restored.exchanges.length === 0]
      const judgeAll = () => {
        // Nobody asks for what was restored once it has been replaced.
        if (!isOver) judgeRestored()
        catchUp()
      }
      const period = createPeriod({ now, catchUp: judgeAll, faults, doubt, clients })
      let sinceClear = createLedger('reset', allow)
      let page = sinceClear.open(null, period, 0)
      page.arrive(restored.exchanges.length)
      const sinceStart = [ledger.open(where, period, restored.received)]
      if (above) {
        const place = where === null ? `world ${above.world}` : `world ${above.world}, ${where}`
        sinceStart.push(above.verdict.ledger.open(place, period, restored.received))
      }
      return {
        arrive(count) {
          page.arrive(count)
          for (const other of sinceStart) other.arrive(count)
        },
        see(exchange) {
          judgeRestored()
          const breaches = period.see(exchange)
          if (breaches.length === 0) return
          page.add(breaches)
          for (const other of sinceStart) other.add(breaches)
        },
        clear(n) {
          judgeAll()
          sinceClear = createLedger('reset', allow)
          page = sinceClear.open(null, period, n)
        },
        report: () => sinceClear.report(),
        end() {
          isOver = true
          for (const other of sinceStart) other.end()
        },
      }

      /** When its effect is first needed: a test may restore often, and look rarely. */
      function judgeRestored(): void {
        if (isJudged) return
        isJudged = true
        for (const exchange of answered(restored)) page.add(period.see(exchange))
      }
    },
  }
}

/** In the order of the answers, as `see` would have been called. */
function answered({ exchanges }: Restored): readonly Outline[] {
  return exchanges
    .filter(({ answeredAt, fault }) => answeredAt !== null || fault === 'hang')
    .sort((one, other) => endOf(one) - endOf(other) || one.n - other.n)
}

function endOf({ at, answeredAt }: Outline): number {
  return answeredAt ?? at
}
