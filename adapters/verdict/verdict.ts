import type { Exchange } from './log/exchange.js'
import type { JournalState } from './log/recorder.js'
import { createRuleRunner, type RunnerOptions } from './rule-runner.js'
import type { RuleId } from './rules/index.js'
import { endOf } from './rules/rule.js'
import { createScope, type Run, type Scope } from './scope.js'

export interface Source extends Omit<RunnerOptions, 'clients'>, Pick<Run, 'faults'> {
  /** The restored journal, which reports since the start leave out. */
  readonly restored?: Pick<JournalState, 'exchanges' | 'received'> | undefined
  /**
   * Returns the number of requests since the last call, and the exchanges that were answered, or never
   * will be, in the order of their answers.
   */
  readonly take: () => { readonly arrived: number; readonly ended: readonly Exchange[] }
}

/** The verdict on all worlds, and which of them this is. */
export interface Above {
  readonly verdict: { readonly sinceStart: Scope }
  readonly world: string
}

/** Judges every exchange once, however often a double is reset. */
export type Verdict = ReturnType<typeof createVerdict>
export type Recording = ReturnType<Verdict['record']>

/**
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 * @param above also reports everything, as of that world
 * @param clients how many share a key; undefined where nobody says so
 */
export function createVerdict(allow: readonly RuleId[] = [], above?: Above, clients?: number) {
  const sinceStart = createScope('start', allow)

  return {
    sinceStart,
    report: sinceStart.report,
    /** A reset ends the run. @param where its name in reports since the start; null for the first */
    record(where: string | null, { restored, take, faults, ...options }: Source) {
      const { exchanges = [], received = 0 } = restored ?? {}
      let waiting = exchanges
      let isOver = false
      const { see, open } = createRuleRunner({ clients, ...options })
      const run = { catchUp, open, faults }
      const parts = [sinceStart.open(where, run, received)]
      if (above) {
        const place = where === null ? `world ${above.world}` : `world ${above.world}, ${where}`
        parts.push(above.verdict.sinceStart.open(place, run, received))
      }
      let [sinceReset, part] = openReset(0)
      part.arrive(exchanges.length)
      return {
        catchUp,
        /** Leaves everything up to this exchange out of `report`. */
        clear(n: number): void {
          catchUp()
          ;[sinceReset, part] = openReset(n)
        },
        /** On everything since the run began or was cleared, and on what was restored. */
        report: () => sinceReset.report(),
        /** Exchanges taken later still count. */
        end(): void {
          isOver = true
          for (const one of parts) one.end()
        },
      }

      function openReset(after: number) {
        const scope = createScope('reset', allow)
        return [scope, scope.open(null, run, after)] as const
      }

      function catchUp(): void {
        const { arrived, ended } = take()
        const all = [part, ...parts]
        for (const one of all) one.arrive(arrived)
        // Nobody asks for what was restored once it has been replaced.
        if (!isOver || ended.length > 0) judgeRestored()
        for (const exchange of ended) {
          const violations = see(exchange)
          for (const one of all) one.add(violations)
        }
      }

      /** When its effect is first needed: a test may restore often, and look rarely. */
      function judgeRestored(): void {
        const exchanges = answered(waiting)
        waiting = []
        for (const exchange of exchanges) part.add(see(exchange))
      }
    },
  }
}

/** In the order of the answers. */
function answered(exchanges: readonly Exchange[]): readonly Exchange[] {
  return exchanges
    .filter(({ answeredAt, fault }) => answeredAt !== null || fault === 'hang')
    .sort((one, other) => endOf(one) - endOf(other) || one.n - other.n)
}
