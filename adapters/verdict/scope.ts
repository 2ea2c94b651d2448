import { createEntries, type Entries } from './entries.js'
import type { Report } from './report.js'
import type { RuleId } from './rules/index.js'
import type { Violation } from './rules/rule.js'
import { createUnused } from './rules/unused-faults.js'
import type { Window } from './window.js'

/** What one report says, over all the windows that it covers. */
export interface Scope {
  /**
   * @param where the name of the window in the report
   * @param after leaves out everything up to this exchange
   */
  open(where: string | null, window: Window, after: number): Part
  report(): Report
}

/** What a report says of one window. */
export interface Part {
  /** This many requests have arrived. */
  arrive(count: number): void
  add(violations: readonly Violation[]): void
  /** The window is over: what is still going on counts as it is. */
  end(): void
}

interface OpenPart extends Part {
  readonly window: Window
  addOpen(entries: Entries): void
}

/**
 * @param since what it covers: one window, or all of them
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 */
export function createScope(since: 'reset' | 'start', allow: readonly RuleId[]): Scope {
  const past = createEntries()
  // Not a Set, whose discarded tables would keep the windows of earlier resets alive.
  let parts: readonly OpenPart[] = []
  const unused = createUnused(since, () => parts)
  let opened = 0
  let requests = 0

  return {
    open(where, window, after) {
      const place = { number: ++opened, where }
      const part: OpenPart = {
        window,
        arrive(count) {
          requests += count
        },
        add: violations => past.add(violations, place, after),
        addOpen(entries) {
          entries.add(window.open(), place, after)
          entries.add(unused.open(window), place)
        },
        end() {
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
    report() {
      for (const { window } of parts) window.catchUp()
      const entries = past.copy()
      for (const part of parts) part.addOpen(entries)
      const all = entries.list(allow)
      const findings = all.filter(({ isLikely }) => !isLikely).map(({ finding }) => finding)
      const notes = all.filter(({ isLikely }) => isLikely).map(({ finding }) => finding)
      const ok = findings.every(({ allowed }) => allowed)
      return { ok, requests, dropped: 0, findings, notes }
    },
  }
}
