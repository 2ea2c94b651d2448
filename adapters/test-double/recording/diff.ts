import { differenceOfResponses, inTime, withoutTimes } from './difference.js'
import type { AnswerStep, RecordingFile, SendStep, Step } from './file.js'
import type { Difference } from './replay-steps.js'

/**
 * Compares two recordings of the same work step by step. Where their clocks stood at different times,
 * what depends on the time does not count: times, limits, and digests.
 *
 * @returns the first step that differs; 0 is the beginning
 */
export function differenceOfRecordings(
  good: RecordingFile,
  bad: RecordingFile,
): Difference | undefined {
  const what = differenceOfBeginnings(good, bad)
  if (what !== undefined) return { step: 0, what }
  const isFrozen = good.begin.frozen && bad.begin.frozen
  let isSameTime = good.begin.at === bad.begin.at
  let planned: Difference | undefined
  for (const [index, one] of good.steps.entries()) {
    const other = bad.steps[index]
    if (!other) return { step: index + 1, what: 'the second recording ends before it' }
    const isMoved = one.at !== other.at
    if (isFrozen && isSameTime && isMoved) {
      return { step: one.step, what: `it is at ${iso(other.at)} instead of ${iso(one.at)}` }
    }
    isSameTime &&= !isMoved
    const found = differenceOfSteps(one, other, isSameTime)
    if (found !== undefined) return { step: one.step, what: found }
    planned ??= differenceOfPlans(one, other)
  }
  // What a planned fault does says more than the plan, which differs at an earlier step.
  if (bad.steps.length === good.steps.length) return planned
  return { step: good.steps.length + 1, what: 'the first recording ends before it' }
}

function differenceOfBeginnings(good: RecordingFile, bad: RecordingFile): string | undefined {
  const [one, other] = [good, bad].map(({ begin: { options, keys, frozen, state } }) => ({
    options,
    keys,
    frozen,
    state: state === null,
  }))
  for (const name of ['options', 'keys', 'frozen', 'state'] as const) {
    if (textOf(one?.[name]) !== textOf(other?.[name]))
      return `the recordings begin with ${BEGIN[name]}`
  }
  return undefined
}

const BEGIN = {
  options: 'different options',
  keys: 'different API keys',
  frozen: 'one clock that runs and one that stands still',
  state: 'one double that is new and one that is not',
}

function differenceOfSteps(one: Step, other: Step, isSameTime: boolean): string | undefined {
  if (one.do !== other.do) return `${other.do} instead of ${one.do}`
  if (one.world !== other.world) {
    return `world ${other.world ?? 'none'} instead of ${one.world ?? 'none'}`
  }
  const what =
    one.do === 'send' && other.do === 'send'
      ? differenceOfRequests(one, other)
      : one.do === 'answer' && other.do === 'answer'
        ? differenceOfAnswers(one, other, isSameTime)
        : differenceOfInputs(one, other, isSameTime)
  if (what !== undefined || !isSameTime || one.digest === other.digest) return what
  return 'another state: the digests differ'
}

/** The network adds headers and an address of its own, which have no effect. */
function differenceOfRequests(one: SendStep, other: SendStep): string | undefined {
  for (const name of ['method', 'path', 'query', 'body', 'base64'] as const) {
    const [was, is] = [one.request[name], other.request[name]]
    if (was !== is) return `${name} ${shown(is)} instead of ${shown(was)}`
  }
  for (const name of ['authorization', 'content-type', 'idempotency-key']) {
    const [was, is] = [one.request.headers[name], other.request.headers[name]]
    if (was !== is) return `header ${name} is ${shown(is)} instead of ${shown(was)}`
  }
  return undefined
}

function differenceOfPlans(one: Step, other: Step): Difference | undefined {
  if (one.do !== 'send' || other.do !== 'send') return undefined
  const [was, is] = [one, other].map(({ planned }) => (planned ? textOf(planned) : 'none'))
  return was === is ? undefined : { step: one.step, what: `planned ${is} instead of ${was}` }
}

function differenceOfAnswers(
  one: AnswerStep,
  other: AnswerStep,
  isSameTime: boolean,
): string | undefined {
  const what = isSameTime
    ? differenceOfResponses(one, other)
    : differenceOfResponses(withoutTimes(one), withoutTimes(other), name => !inTime(name))
  // A response that is lost on its way is recorded as it was sent.
  if (what !== undefined || one.fault === other.fault) return what
  return `fault ${other.fault ?? 'none'} instead of ${one.fault ?? 'none'}`
}

/** What a test did, but for the state that it restored. */
function differenceOfInputs(one: Step, other: Step, isSameTime: boolean): string | undefined {
  if (one.do === 'clock' || one.do === 'restore' || (one.do === 'world' && !isSameTime)) {
    return undefined
  }
  const [was, is] = [one, other].map(({ step: _, at: __, digest: ___, ...input }) => textOf(input))
  return was === is ? undefined : `${is} instead of ${was}`
}

function shown(value: string | undefined): string {
  return value === undefined ? 'missing' : JSON.stringify(value.slice(0, 80))
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? `${field}n` : field))
}
