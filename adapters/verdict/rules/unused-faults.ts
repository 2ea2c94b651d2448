import type { Rule } from './rule.js'

export const UNUSED_FAULTS = {
  id: 'fault.unused',
  fix: 'Arm it for a request that the client sends with a valid key, or remove it.',
  violatedBy:
    'the test, not the client: an armed fault has affected no response; a note, or a finding with `exec --require-faults`',
  fromOutside: "never: faults are the double's",
} as const satisfies Rule

export interface FaultUse {
  /** Those that never did, in the order in which they were armed. */
  unused(): readonly UnusedFault[]
  /** Faults of the options that did: every reset and every world arms them again. */
  readonly fired: ReadonlySet<object>
}

export interface UnusedFault {
  readonly text: string
  readonly keyId: string | null
  readonly at: number
  readonly option: object | undefined
  /** A snapshot holds it as well: it may have fired elsewhere. */
  readonly isKept: boolean
}

/**
 * The faults of some runs that never fired in any of them.
 * @param since over one run, or over all of them: then a fault that a snapshot also holds may fire
 * in another, and those of the options are armed in each
 */
export function createUnused(since: 'reset' | 'start') {
  const firedBefore = new Set<object>()

  return {
    /** @param all the runs that are still going on, of which the first that has a fault says so */
    open(all: readonly (FaultUse | undefined)[]) {
      const told = new Set([...firedBefore, ...all.flatMap(use => [...(use?.fired ?? [])])])
      return (use: FaultUse | undefined) =>
        unusedOf(use, fault => {
          const { option } = fault
          if (since === 'reset' || isCertain(fault)) return true
          const isNew = option !== undefined && !told.has(option)
          if (isNew) told.add(option)
          return isNew
        })
    },
    end(use: FaultUse | undefined) {
      for (const fault of use?.fired ?? []) firedBefore.add(fault)
      return unusedOf(use, isCertain)
    },
  }
}

function isCertain({ option, isKept }: UnusedFault): boolean {
  return option === undefined && !isKept
}

function unusedOf(use: FaultUse | undefined, counts: (fault: UnusedFault) => boolean) {
  return (use?.unused() ?? []).filter(counts).map(({ text, keyId, at }) => ({
    rule: UNUSED_FAULTS.id,
    seen: `a fault was armed and never fired: ${text}`,
    exchanges: [],
    began: { keyId, at, n: 0 },
    isLikely: true,
  }))
}
