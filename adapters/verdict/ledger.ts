import type { Period } from './period.js'
import type { Report } from './report.js'
import type { Breach, RuleId } from './rules.js'
import { createTally, type Tally } from './tally.js'
import { createUnused } from './unused.js'

/** What one report says, over all the periods that it covers. */
export interface Ledger {
  /**
   * @param where the name of the period in the report
   * @param after leaves out everything up to this exchange
   */
  open(where: string | null, period: Period, after: number): Page
  report(): Report
}

/** What a report says of one period. */
export interface Page {
  /** This many requests have arrived. */
  arrive(count: number): void
  add(breaches: readonly Breach[]): void
  /** The period is over: what is still going on counts as it is. */
  end(): void
}

interface OpenPage extends Page {
  readonly period: Period
  addOpen(tally: Tally): void
}

/**
 * @param since what it covers: one period, or all of them
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 */
export function createLedger(since: 'reset' | 'start', allow: readonly RuleId[]): Ledger {
  const past = createTally()
  // Not a Set, whose discarded tables would keep the periods of earlier resets alive.
  let pages: readonly OpenPage[] = []
  const unused = createUnused(since, () => pages)
  let opened = 0
  let requests = 0

  return {
    open(where, period, after) {
      const name = { number: ++opened, where }
      const page: OpenPage = {
        period,
        arrive(count) {
          requests += count
        },
        add: breaches => past.add(later(breaches, after), name),
        addOpen(tally) {
          tally.add(later(period.open(), after), name)
          tally.add(unused.open(period), name)
        },
        end() {
          period.catchUp()
          if (!pages.includes(page)) return
          past.add(later(period.open(), after), name)
          past.add(unused.end(period), name)
          pages = pages.filter(other => other !== page)
        },
      }
      pages = [...pages, page]
      return page
    },
    report() {
      for (const { period } of pages) period.catchUp()
      const tally = past.copy()
      for (const page of pages) page.addOpen(tally)
      const all = tally.list(allow)
      const findings = all.filter(({ isLikely }) => !isLikely).map(({ finding }) => finding)
      const notes = all.filter(({ isLikely }) => isLikely).map(({ finding }) => finding)
      const ok = findings.every(({ allowed }) => allowed)
      return { ok, requests, dropped: 0, findings, notes }
    },
  }
}

/** Those that exchanges after the given one show, by these alone. */
function later(breaches: readonly Breach[], after: number): readonly Breach[] {
  if (after === 0) return breaches
  return breaches.map(breach => ({
    ...breach,
    exchanges: breach.exchanges.filter(({ n }) => n > after),
  }))
}
