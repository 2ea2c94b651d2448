import type { Rule, Violation } from './rule.js'

export const UNUSED_FAULTS = {
  id: 'fault.unused',
  fix: 'Arm it for a request that the client sends with a valid key, or remove it.',
  violatedBy:
    'not the client but the test: a fault that was armed and has not affected a response; a note, or a finding with `exec --require-faults`',
  fromOutside: "never: faults are the double's",
} as const satisfies Rule

/** Which faults have affected a response. */
export interface FaultUse {
  /** Those that never did, in the order in which they were armed. */
  unused(): readonly UnusedFault[]
  /** Faults of the options that did: every reset and every world arms them again. */
  readonly fired: ReadonlySet<object>
}

export interface UnusedFault {
  /** The text form of the fault. */
  readonly text: string
  /** The id of the key it is for. */
  readonly key: string | null
  /** When it was armed, in ms. */
  readonly at: number
  /** The fault of the options that it is. */
  readonly option: object | undefined
  /** A snapshot holds it as well: it may have fired elsewhere. */
  readonly isKept: boolean
}

interface WithFaults {
  readonly faults: FaultUse | undefined
}

/** The faults of some windows that never fired in any of them. */
export interface UnusedFaults {
  /** The faults of a window that is still going on. */
  open(window: WithFaults): readonly Violation[]
  /** The faults of a window that is over. */
  end(window: WithFaults): readonly Violation[]
}

/**
 * @param since over one window, or over all of them: then a fault that a snapshot also holds may fire
 * in another, and those of the options are armed in each
 * @param windows the windows that are still going on
 */
export function createUnused(
  since: 'reset' | 'start',
  windows: () => readonly { readonly window: WithFaults }[],
): UnusedFaults {
  const firedBefore = new Set<object>()

  return {
    open(window) {
      const unused = window.faults?.unused() ?? []
      if (since === 'reset') return unused.map(violationOf)
      return unused.filter(one => isCertain(one) || isUnusedOption(one, window)).map(violationOf)
    },
    end({ faults }) {
      for (const fault of faults?.fired ?? []) firedBefore.add(fault)
      return (faults?.unused() ?? []).filter(isCertain).map(violationOf)
    },
  }

  /** Only the first window that has it says so. */
  function isUnusedOption({ option }: UnusedFault, window: WithFaults): boolean {
    if (option === undefined || firedBefore.has(option)) return false
    const open = windows().flatMap(({ window: { faults } }) => faults ?? [])
    const first = open.find(faults => faults.unused().some(one => one.option === option))
    return first === window.faults && !open.some(({ fired }) => fired.has(option))
  }
}

function isCertain({ option, isKept }: UnusedFault): boolean {
  return option === undefined && !isKept
}

function violationOf({ text, key, at }: UnusedFault): Violation {
  const seen = `a fault was armed and never fired: ${text}`
  return { rule: 'fault.unused', seen, exchanges: [], began: { key, at, n: 0 }, isLikely: true }
}
