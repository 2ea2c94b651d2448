import { check, isFunction, isString, OptionError } from '../../../src/lib/check-options.js'
import { type ExploreOptions, readExploreOptions } from './explore-options.js'
import type { Shown } from './faults-at.js'
import { type RunFailure, runOnce, type Work } from './run.js'
import { parseSchedule, type Schedule, scheduleText } from './schedule.js'
import { search } from './search.js'

export interface Explored {
  /** No run has failed. `exhausted` says how much that proves. */
  readonly ok: boolean
  readonly runs: number
  /** Schedules left out because their result is known, each counted with all its extensions. */
  readonly pruned: number
  /** Every possible schedule with at most `depth` faults has run or was pruned. */
  readonly exhausted: boolean
  /** Minimal failures: fewest faults first, then in the order of requests. */
  readonly failures: readonly RunFailure[]
  /**
   * Runs that passed although a response was cut off, malformed or an error, and its operation was
   * not called again: `listPets#1=truncate: passed although listPets#1 was cut off`.
   */
  readonly notes: readonly string[]
  /** Schedules whose requests did not come again: the work is not deterministic. */
  readonly unreached: readonly string[]
}

export interface ScheduleRun extends Omit<RunFailure, 'reason'> {
  readonly ok: boolean
  /** One line; undefined if the run passed. */
  readonly reason: string | undefined
}

/**
 * Runs the work again and again with other faults at other requests, until every schedule with at
 * most `depth` faults has run, each on a new double and in virtual time.
 * @throws OptionError
 * @example
 * import { explore } from 'animal-adoption-store/test-double'
 *
 * const headers = { authorization: 'Bearer demo-free' }
 * const { ok, failures } = await explore(async ({ double, fetch }) => {
 *   await fetch(`${double.baseUrl}/pets`, { headers }).catch(() => {})
 * })
 */
export async function explore(work: Work, options: ExploreOptions = {}): Promise<Explored> {
  check('work', work, isFunction)
  const settings = readExploreOptions(options)
  const { failures, notes, unreached, ...found } = await search({
    ...settings,
    run: schedule => runOnce(work, schedule, settings),
  })
  return {
    ok: failures.length === 0,
    ...found,
    failures: failures.map(({ failure }) => failure),
    notes: notes.map(({ schedule, note }) => `${scheduleText(schedule)}: passed although ${note}`),
    unreached: unreached.map(scheduleText),
  }
}

/**
 * Runs the work once, with the faults of a schedule such as `createPet#1=reset getPet#2=delay:31s`.
 * The options of the search have no effect.
 * @throws OptionError, also for a request that never comes
 * @example
 * import { runSchedule } from 'animal-adoption-store/test-double'
 *
 * const headers = { authorization: 'Bearer demo-free' }
 * const { ok, reason } = await runSchedule('listPets#1=reset', async ({ double, fetch }) => {
 *   await fetch(`${double.baseUrl}/pets`, { headers })
 * })
 */
export async function runSchedule(
  schedule: string,
  work: Work,
  options: ExploreOptions = {},
): Promise<ScheduleRun> {
  check('schedule', schedule, isString)
  check('work', work, isFunction)
  const steps = parseSchedule(schedule)
  const { double, requests, isReached, failure } = await runOnce(
    work,
    steps,
    readExploreOptions(options),
  )
  if (!isReached && !failure) throw neverSent(steps, requests)
  if (failure) return { ok: false, ...failure }
  return {
    ok: true,
    schedule: scheduleText(steps),
    reason: undefined,
    error: undefined,
    report: double.report(),
    requests: double.requests(),
  }
}

function neverSent(schedule: Schedule, requests: readonly Shown[]): OptionError {
  const sent = requests.map(({ point }) => point)
  const missing = schedule.map(({ point }) => point).filter(point => !sent.includes(point))
  const expected = `of requests that the work sends: ${sent.join(', ') || 'it sends none'}`
  return new OptionError({ option: 'schedule', expected, got: missing.join(', ') })
}
