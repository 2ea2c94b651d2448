import type { Rule, Violation } from './rule.js'

export const UNUSED_FAULTS = {
  id: 'fault.unused',
  fix: 'Arm it for a request that the client sends with a valid key, or remove it.',
  violatedBy:
    'the test, not the client: an armed fault has affected no response; a note, or a finding with `exec --require-faults`',
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
  readonly text: string
  readonly keyId: string | null
  readonly at: number
  readonly option: object | undefined
  /** A snapshot holds it as well: it may have fired elsewhere. */
  readonly isKept: boolean
}

interface Part {
  readonly runner: { readonly faults: FaultUse | undefined }
}

/**
 * The faults of some runs that never fired in any of them.
 *
 * @param since over one run, or over all of them: then a fault that a snapshot also holds may fire
 * in another, and those of the options are armed in each
 * @param parts the runs that are still going on
 */
export function createUnused(since: 'reset' | 'start', parts: () => readonly Part[]) {
  const firedBefore = new Set<object>()

  return {
    open: ({ faults }: Part['runner']) =>
      unusedOf(faults, one => since === 'reset' || isCertain(one) || isUnusedOption(one, faults)),
    end({ faults }: Part['runner']) {
      for (const fault of faults?.fired ?? []) firedBefore.add(fault)
      return unusedOf(faults, isCertain)
    },
  }

  /** Only the first run that has it says so. */
  function isUnusedOption({ option }: UnusedFault, faults: FaultUse | undefined): boolean {
    if (option === undefined || firedBefore.has(option)) return false
    const open = parts().flatMap(({ runner }) => runner.faults ?? [])
    const first = open.find(one => one.unused().some(fault => fault.option === option))
    return first === faults && !open.some(({ fired }) => fired.has(option))
  }
}

function isCertain({ option, isKept }: UnusedFault): boolean {
  return option === undefined && !isKept
}

function unusedOf(
  faults: FaultUse | undefined,
  counts: (fault: UnusedFault) => boolean,
): readonly Violation[] {
  return (faults?.unused() ?? []).filter(counts).map(({ text, keyId, at }) => ({
    rule: UNUSED_FAULTS.id,
    seen: `a fault was armed and never fired: ${text}`,
    exchanges: [],
    began: { keyId, at, n: 0 },
    isLikely: true,
  }))
}
