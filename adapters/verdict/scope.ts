import { createFindings, type Place } from './findings.js'
import type { Report } from './report.js'
import type { RuleRunner } from './rule-runner.js'
import type { RuleId } from './rules/index.js'
import type { Violation } from './rules/rule.js'
import { createUnused } from './rules/unused-faults.js'

/** One report over one run, the time between two resets, or over all of them. */
export type Scope = ReturnType<typeof createScope>

/**
 * @param since what it covers: one run, or all of them
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 */
export function createScope(since: 'reset' | 'start', allow: readonly RuleId[]) {
  const past = createFindings()
  // Not a Set, whose discarded tables would keep the runs of earlier resets alive.
  let parts: readonly OpenPart[] = []
  const unused = createUnused(since, () => parts)
  let opened = 0
  let requestCount = 0

  return {
    /**
     * @param where the name of the run in the report
     * @param after leaves out everything up to this exchange
     */
    open(where: string | null, runner: RuleRunner, after: number) {
      const place = { number: ++opened, where }
      const part = {
        runner,
        arrive(count: number): void {
          requestCount += count
        },
        place,
        after,
        add: (violations: readonly Violation[]): void => past.add(violations, place, after),
        /** The run is over: what is still going on counts as it is. */
        end(): void {
          runner.catchUp()
          if (!parts.includes(part)) return
          past.add(runner.open(), place, after)
          past.add(unused.end(runner), place)
          parts = parts.filter(other => other !== part)
        },
      }
      parts = [...parts, part]
      return part
    },
    report(): Report {
      for (const { runner } of parts) runner.catchUp()
      const entries = createFindings(past.copy())
      for (const { runner, place, after } of parts) {
        entries.add(runner.open(), place, after)
        entries.add(unused.open(runner), place)
      }
      const { findings, notes } = entries.list(allow)
      const ok = requestCount > 0 && findings.every(({ allowed }) => allowed)
      return { ok, requestCount, dropped: 0, findings, notes }
    },
  }
}

interface OpenPart {
  readonly runner: RuleRunner
  readonly place: Place
  readonly after: number
}
