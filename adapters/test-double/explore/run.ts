import type { Awaitable } from '../../../src/lib/async.js'
import type { Pet } from '../../../src/pets/schema.js'
import type { JournalEntry } from '../../verdict/log/recorder.js'
import type { Report } from '../../verdict/report.js'
import { runOn } from '../auto-advance.js'
import type { VirtualClock } from '../clock/clock.js'
import { createDouble, type TestDouble } from '../double.js'
import type { TestDoubleOptions } from '../double-options.js'
import type { Snapshot } from '../snapshot.js'
import { endlessReason, problemOf, reportReason } from './reason.js'
import { type Schedule, scheduleText } from './schedule.js'
import type { Outcome } from './search.js'
import { traceWaits } from './trace.js'
import { catchRejections } from './unhandled-rejections.js'
import { createQuickTurns, EndlessError, untilIdle } from './virtual-time.js'
import { watchRequests } from './watch-requests.js'

/** A double in virtual time, and parts of it. */
export interface Tools {
  readonly double: TestDouble
  readonly fetch: typeof fetch
  readonly clock: VirtualClock
  readonly sleep: VirtualClock['sleep']
}

/** The client code to explore. It must act the same whenever it gets the same responses. */
export type Work = (tools: Tools) => Awaitable<unknown>

/** A completed run, for an invariant. */
export interface Ended {
  /** All animals in the store, even by requests that the work did not wait for. */
  pets(): Promise<readonly Pet[]>
  readonly report: Report
  /** The error that the work threw; undefined if it resolved. */
  readonly error: unknown
  readonly value: unknown
  /** Such as `createPet#1=reset getPet#2=delay:31s`. */
  readonly schedule: string
  readonly double: TestDouble
}

export interface RunFailure {
  /** Such as `createPet#1=reset getPet#2=delay:31s`; empty for the run without a fault. */
  readonly schedule: string
  /** One line. */
  readonly reason: string
  /** The error that the work or the invariant threw. */
  readonly error: unknown
  readonly report: Report
  readonly requests: readonly JournalEntry[]
}

export interface RunSettings {
  readonly double: TestDoubleOptions
  readonly snapshot?: Snapshot | undefined
  readonly invariant?: ((run: Ended) => Awaitable<unknown>) | undefined
  /** In ms. */
  readonly maxTime: number
  readonly maxRequests: number
}

export interface RunOutcome extends Outcome<RunFailure> {
  readonly double: TestDouble
}

export async function runOnce(
  work: Work,
  schedule: Schedule,
  settings: RunSettings,
): Promise<RunOutcome> {
  const outcome = await run(work, schedule, settings)
  if (!(outcome.failure?.error instanceof EndlessError)) return outcome
  // Once more with stacks, as following every call would slow down the other runs.
  return run(work, schedule, settings, true)
}

async function run(
  work: Work,
  schedule: Schedule,
  settings: RunSettings,
  isTraced = false,
): Promise<RunOutcome> {
  const { snapshot, maxTime, maxRequests } = settings
  const seen = watchRequests(schedule, maxRequests)
  const double = createDouble(settings.double, undefined, undefined, seen.watch)
  // Work that never ends is left behind.
  double.unref()
  if (snapshot) await double.restore(snapshot)
  const waits = isTraced ? traceWaits(double) : undefined
  const { fetch, clock } = double
  const rejections = catchRejections()
  let problem: Problem | undefined
  const attempt = async () => {
    const result = await settle(() => work({ double, fetch, clock, sleep: clock.sleep }))
    seen.end()
    // A request still arrives after the work has given up on it.
    double.endDelays()
    await untilIdle(double)
    problem = await judge(result, settings.invariant, double, schedule)
  }
  try {
    const turns = createQuickTurns(double, { limit: maxTime, isOver: seen.isOver })
    await runOn(double, attempt, turns)
  } catch (error) {
    problem = { reason: endlessReason(error as EndlessError, seen.requests, waits?.()), error }
  } finally {
    rejections.end()
  }
  const unhandled = rejections.first()
  if (unhandled) {
    const what = 'the work leaves a rejection unhandled, which ends a process'
    problem = problemOf(what, unhandled.error)
  }
  const failure = problem && {
    schedule: scheduleText(schedule),
    ...problem,
    report: double.report(),
    requests: double.requests(),
  }
  return { double, requests: seen.requests, isReached: seen.isReached(), failure }
}

type Problem = Pick<RunFailure, 'reason' | 'error'>

interface Result {
  readonly value?: unknown
  /** An object, because `undefined` can be thrown too. */
  readonly thrown?: { readonly error: unknown }
}

async function settle(call: () => unknown): Promise<Result> {
  try {
    return { value: await call() }
  } catch (error) {
    return { thrown: { error } }
  }
}

async function judge(
  { value, thrown }: Result,
  invariant: RunSettings['invariant'],
  double: TestDouble,
  schedule: Schedule,
): Promise<Problem | undefined> {
  if (!invariant) {
    if (thrown) return problemOf('the work failed', thrown.error)
    const report = double.report()
    return report.ok ? undefined : { reason: reportReason(report), error: undefined }
  }
  const ended: Ended = {
    double,
    schedule: scheduleText(schedule),
    value,
    error: thrown?.error,
    get report() {
      return double.report()
    },
    pets: async () => double.inspect.animals({ limit: Number.MAX_SAFE_INTEGER }),
  }
  const verdict = await settle(() => invariant(ended))
  if (verdict.thrown) return problemOf('the invariant failed', verdict.thrown.error)
  return verdict.value === false
    ? { reason: 'the invariant is false', error: undefined }
    : undefined
}
