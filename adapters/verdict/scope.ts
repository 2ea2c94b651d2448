import { createEntries, type Entries } from './entries.js'
import type { Report } from './report.js'
import type { RuleId } from './rules/index.js'
import type { Violation } from './rules/rule.js'
import { createUnused } from './rules/unused-faults.js'
import type { Window } from './window.js'

/** What one report says, over all the windows that it covers. */
export type Scope = ReturnType<typeof createScope>

/**
 * @param since what it covers: one window, or all of them
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 */
export function createScope(since: 'reset' | 'start', allow: readonly RuleId[]) {
  const past = createEntries()
  // Not a Set, whose discarded tables would keep the windows of earlier resets alive.
  let parts: readonly OpenPart[] = []
  const unused = createUnused(since, () => parts)
  let opened = 0
  let requestCount = 0

  return {
    /**
     * @param where the name of the window in the report
     * @param after leaves out everything up to this exchange
     */
    open(where: string | null, window: Window, after: number) {
      const place = { number: ++opened, where }
      const part = {
        window,
        /** This many requests have arrived. */
        arrive(count: number): void {
          requestCount += count
        },
        add: (violations: readonly Violation[]): void => past.add(violations, place, after),
        addOpen(entries: Entries): void {
          entries.add(window.open(), place, after)
          entries.add(unused.open(window), place)
        },
        /** The window is over: what is still going on counts as it is. */
        end(): void {
          window.catchUp()
          if (!parts.includes(part)) return
          past.add(window.open(), place, after)
          past.add(unused.end(window), place)
          parts = parts.filter(other => other !== part)
        },
      }
      parts = [...parts, part]
      return part
    },
    report(): Report {
      for (const { window } of parts) window.catchUp()
      const entries = createEntries(past.copy())
      for (const part of parts) part.addOpen(entries)
      const { findings, notes } = entries.list(allow)
      const ok = findings.every(({ allowed }) => allowed)
      return { ok, requestCount, dropped: 0, findings, notes }
    },
  }
}

interface OpenPart {
  readonly window: Window
  addOpen(entries: Entries): void
}
