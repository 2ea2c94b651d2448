import { createFindings, type Place } from './findings.js'
import type { Report } from './report.js'
import type { RuleId } from './rules/index.js'
import type { Violation } from './rules/rule.js'
import { createUnused, type FaultUse } from './rules/unused-faults.js'

/** The time between two resets. */
export interface Run {
  /** Has everything judged that is still waiting for it. */
  readonly catchUp: () => void
  readonly open: () => readonly Violation[]
  readonly faults?: FaultUse | undefined
}

/** One report over one run, or over all of them. */
export type Scope = ReturnType<typeof createScope>

export function createScope(since: 'reset' | 'start', allow: readonly RuleId[]) {
  const past = createFindings()
  const unused = createUnused(since)
  // Not a Set, whose discarded tables would keep the runs of earlier resets alive.
  let parts: readonly { readonly run: Run; readonly place: Place; readonly after: number }[] = []
  let opened = 0
  let requestCount = 0

  return {
    /** @param after leaves out everything up to this exchange */
    open(where: string | null, run: Run, after: number) {
      const place = { number: ++opened, where }
      const part = { run, place, after }
      parts = [...parts, part]
      return {
        arrive(count: number): void {
          requestCount += count
        },
        add: (violations: readonly Violation[]): void => past.add(violations, place, after),
        /** The run is over: what is still going on counts as it is. */
        end(): void {
          run.catchUp()
          if (!parts.includes(part)) return
          past.add(run.open(), place, after)
          past.add(unused.end(run.faults), place)
          parts = parts.filter(other => other !== part)
        },
      }
    },
    report(): Report {
      for (const { run } of parts) run.catchUp()
      const entries = createFindings(past.copy())
      const unusedIn = unused.open(parts.map(({ run }) => run.faults))
      for (const { run, place, after } of parts) {
        entries.add(run.open(), place, after)
        entries.add(unusedIn(run.faults), place)
      }
      const { findings, notes } = entries.list(allow)
      const ok = requestCount > 0 && findings.every(({ allowed }) => allowed)
      return { ok, requestCount, dropped: 0, findings, notes }
    },
  }
}
