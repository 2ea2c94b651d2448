import type { Awaitable } from '../../../src/lib/async.js'
import {
  isCount,
  isFunction,
  isObject,
  isSize,
  OptionError,
  optional,
  type Rules,
  readOptions,
} from '../../../src/lib/options.js'
import { type Duration, durationOf } from '../../../src/lib/time.js'
import type { Fault } from '../faults/fault.js'
import type { TestDoubleOptions } from '../options.js'
import type { Snapshot } from '../snapshot.js'
import { checkFault, faultText, parseFault } from './fault-text.js'
import type { Ended } from './run.js'
import type { Progress } from './search.js'

export interface ReplayOptions {
  /**
   * The options of the double that each run has to itself.
   *
   * @default {}
   */
  readonly double?: Omit<TestDoubleOptions, 'control'>
  /**
   * The state in which each run begins, as `double.snapshot()` returns it.
   *
   * @default that of a new double
   */
  readonly snapshot?: Snapshot
  /**
   * Called after each run; the run fails when it throws, rejects or returns false.
   *
   * @default the work has resolved, and the report is ok
   */
  readonly invariant?: (run: Ended) => Awaitable<unknown>
  /**
   * A run fails when more time has to pass on its clock.
   *
   * @default '1d'
   */
  readonly maxTime?: Duration
  /**
   * A run fails when it sends more requests.
   *
   * @default 1_000
   */
  readonly maxRequests?: number
}

export interface ExploreOptions extends ReplayOptions {
  /**
   * What can go wrong with a request: as text, or as faults. With `operation` or `key`, a fault comes
   * only to requests that have it.
   *
   * @default FAULTS
   */
  readonly faults?: readonly (string | Fault)[]
  /**
   * How many faults a run has at most.
   *
   * @default 1
   */
  readonly depth?: number
  /**
   * How many runs there are at most.
   *
   * @default 10_000
   */
  readonly schedules?: number
  /**
   * Called after each run.
   *
   * @default none
   */
  readonly onProgress?: (progress: Progress) => void
}

/** What a network and this service can do to a request. */
export const FAULTS = [
  'reset',
  'truncate',
  'status:503',
  'status:503-after',
  'status:429',
  'delay:31s',
  'hang',
] as const

const REPLAY_DEFAULTS = { double: {}, maxTime: '1d', maxRequests: 1_000 } as const

const DEFAULTS = { ...REPLAY_DEFAULTS, faults: FAULTS, depth: 1, schedules: 10_000 } as const

/** @throws OptionError */
export function readReplayOptions(given: ReplayOptions) {
  return checkReplay(
    readOptions<ReplayOptions, typeof REPLAY_DEFAULTS>(given, REPLAY_DEFAULTS, REPLAY_RULES),
  )
}

/** @throws OptionError */
export function readExploreOptions(given: ExploreOptions) {
  const options = readOptions<ExploreOptions, typeof DEFAULTS>(given, DEFAULTS, RULES)
  return { ...checkReplay(options), faults: readFaults(options.faults) }
}

/** Each fault once, whatever its form. @throws OptionError */
export function readFaults(given: readonly (string | Fault)[]): readonly Fault[] {
  const faults = new Map<string, Fault>()
  for (const [at, one] of given.entries()) {
    const name = `faults[${at}]`
    const fault = typeof one === 'string' ? parseFault(name, one) : checkFault(name, one)
    faults.set(`${fault.operation} ${fault.key} ${faultText(fault)}`, fault)
  }
  return [...faults.values()]
}

function checkReplay<Options extends Pick<Required<ReplayOptions>, 'double' | 'maxTime'>>(
  options: Options,
) {
  if (options.double.clock === 'running') {
    const expected = 'an instant: a run has virtual time'
    throw new OptionError({ option: 'double.clock', expected, got: "'running'" })
  }
  return { ...options, maxTime: durationOf('maxTime', options.maxTime) }
}

const REPLAY_RULES: Rules<ReplayOptions> = {
  double: isObject,
  snapshot: optional(isObject),
  invariant: optional(isFunction),
  maxTime: { expected: 'a duration', accepts: () => true },
  maxRequests: isCount,
}

const RULES: Rules<ExploreOptions> = {
  ...REPLAY_RULES,
  faults: { expected: 'an array of at least one fault', accepts: isFilled },
  depth: isSize,
  schedules: isCount,
  onProgress: optional(isFunction),
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
