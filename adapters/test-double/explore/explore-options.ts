import type { Awaitable } from '../../../src/lib/async.js'
import {
  type Declared,
  isCount,
  isFunction,
  isObject,
  isSize,
  OptionError,
  type OptionsOf,
  optional,
  rule,
  settingsOf,
  typed,
  withDefault,
} from '../../../src/lib/check-options.js'
import { type Duration, durationOf } from '../../../src/lib/time.js'
import type { TestDoubleOptions } from '../double-options.js'
import type { Fault } from '../faults/fault.js'
import { checkFault, faultText, parseFault } from '../faults/text.js'
import type { Snapshot } from '../snapshot.js'
import type { Ended } from './run.js'
import type { Progress } from './search.js'

export const FAULTS = [
  'reset',
  'truncate',
  'status:503',
  'status:503-after',
  'status:429',
  'delay:31s',
  'hang',
] as const

export const EXPLORE_OPTIONS = {
  /** Faults to inject, as text or as objects, which `operation` and `keyId` restrict. @default FAULTS */
  faults: withDefault(
    rule<readonly (string | Fault)[]>('an array of at least one fault', isFilled),
    FAULTS,
  ),
  /** Maximum faults per run. @default 1 */
  depth: withDefault(isSize, 1),
  /** Maximum number of runs. @default 10_000 */
  schedules: withDefault(isCount, 10_000),
  /** Options of the double that each run creates. @default {} */
  double: withDefault(typed<Omit<TestDoubleOptions, 'control'>>(isObject), {}),
  /** The initial state of each run, as `double.snapshot()` returns it. @default a new double */
  snapshot: optional(typed<Snapshot>(isObject)),
  /**
   * Called after each run; the run fails when it throws, rejects or returns false.
   * @default the work has resolved, and the report is ok
   */
  invariant: optional(typed<(run: Ended) => Awaitable<unknown>>(isFunction)),
  /** Longest run, by its clock. A run that needs more time fails. @default '1d' */
  maxTime: withDefault(
    rule<Duration>('a duration', () => true),
    '1d',
  ),
  /** Maximum requests per run. A run that sends more fails. @default 1_000 */
  maxRequests: withDefault(isCount, 1_000),
  /** Called after each run. @default none */
  onRun: optional(typed<(progress: Progress) => void>(isFunction)),
} satisfies Declared
/**
 * @example
 * import { explore } from 'animal-adoption-store/test-double'
 *
 * const { runs } = await explore(() => {}, { depth: 1, faults: ['reset', 'delay:31s'] })
 */
export interface ExploreOptions extends OptionsOf<typeof EXPLORE_OPTIONS> {}

export function readExploreOptions(given: ExploreOptions) {
  const options = settingsOf(EXPLORE_OPTIONS, given)
  if (options.double.time === 'running') {
    const expected = 'an instant: a run has virtual time'
    throw new OptionError({ option: 'double.time', expected, got: "'running'" })
  }
  const maxTime = durationOf('maxTime', options.maxTime)
  return { ...options, maxTime, faults: readFaults(options.faults) }
}

/** Normalizes faults and drops duplicates. @throws OptionError */
export function readFaults(given: readonly (string | Fault)[]): readonly Fault[] {
  const faults = new Map<string, Fault>()
  for (const [at, one] of given.entries()) {
    const name = `faults[${at}]`
    const fault = typeof one === 'string' ? parseFault(name, one) : checkFault(name, one)
    faults.set(`${fault.operation} ${fault.keyId} ${faultText(fault)}`, fault)
  }
  return [...faults.values()]
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
