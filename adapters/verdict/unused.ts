import type { Breach } from './rules.js'

/** Which faults have affected a response. */
export interface FaultUse {
  /** Those that never did, in the order in which they were armed. */
  unused(): readonly UnusedFault[]
  /** Faults of the options that did: every reset and every world arms them again. */
  readonly fired: ReadonlySet<object>
}

export interface UnusedFault {
  /** The fault in words, without values of headers. */
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

/** The faults of some periods that never fired in any of them. */
export interface UnusedFaults {
  /** The faults of a period that is still going on. */
  open(period: WithFaults): readonly Breach[]
  /** The faults of a period that is over. */
  end(period: WithFaults): readonly Breach[]
}

/**
 * @param since over one period, or over all of them: then a fault that a snapshot also holds may fire
 * in another, and those of the options are armed in each
 * @param pages the periods that are still going on
 */
export function createUnused(
  since: 'reset' | 'start',
  pages: () => readonly { readonly period: WithFaults }[],
): UnusedFaults {
  const firedBefore = new Set<object>()

  return {
    open(period) {
      const unused = period.faults?.unused() ?? []
      if (since === 'reset') return unused.map(breachOf)
      return unused.filter(one => isCertain(one) || isUnusedOption(one, period)).map(breachOf)
    },
    end({ faults }) {
      for (const fault of faults?.fired ?? []) firedBefore.add(fault)
      return (faults?.unused() ?? []).filter(isCertain).map(breachOf)
    },
  }

  /** Only the first period that has it says so. */
  function isUnusedOption({ option }: UnusedFault, period: WithFaults): boolean {
    if (option === undefined || firedBefore.has(option)) return false
    const open = pages().flatMap(({ period: { faults } }) => faults ?? [])
    const first = open.find(faults => faults.unused().some(one => one.option === option))
    return first === period.faults && !open.some(({ fired }) => fired.has(option))
  }
}

function isCertain({ option, isKept }: UnusedFault): boolean {
  return option === undefined && !isKept
}

function breachOf({ text, key, at }: UnusedFault): Breach {
  const seen = `a fault was armed and never fired: ${text}`
  return { rule: 'fault.unused', seen, exchanges: [], began: { key, at, n: 0 }, isLikely: true }
}
