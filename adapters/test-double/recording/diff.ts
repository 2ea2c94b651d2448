import { firstDifference } from './difference.js'
import type { AnswerStep, RecordingFile, SendStep, Step } from './file.js'
import type { Difference } from './replay-steps.js'

/**
 * Compares two recordings of the same work step by step. Where their clocks stood at different times,
 * fields that depend on the time do not count: times, limits, and digests.
 *
 * @returns the first step that differs; 0 is the beginning
 */
export function differenceOfRecordings(
  good: RecordingFile,
  bad: RecordingFile,
): Difference | undefined {
  const beginning = firstDifference(beginningOf(good), beginningOf(bad))
  if (beginning !== undefined) return { step: 0, what: `the recordings begin with ${beginning}` }
  const isFrozen = good.begin.frozen
  let isSameTime = good.begin.at === bad.begin.at
  let planned: Difference | undefined
  for (const [index, one] of good.steps.entries()) {
    const { step } = one
    const other = bad.steps[index]
    if (!other) return { step, what: 'the second recording ends before it' }
    const isMoved = one.at !== other.at
    if (isFrozen && isSameTime && isMoved) {
      return { step, what: `it is at ${iso(other.at)} instead of ${iso(one.at)}` }
    }
    isSameTime &&= !isMoved
    const what = firstDifference(comparable(one, isSameTime), comparable(other, isSameTime))
    if (what !== undefined) return { step, what }
    if (isSameTime && one.digest !== other.digest) {
      return { step, what: 'another state: the digests differ' }
    }
    const plan = firstDifference(planOf(one), planOf(other), 'fault')
    if (plan !== undefined) planned ??= { step, what: `planned ${plan}` }
  }
  // What a planned fault does says more than the plan, which differs at an earlier step.
  if (bad.steps.length === good.steps.length) return planned
  return { step: good.steps.length + 1, what: 'the first recording ends before it' }
}

function beginningOf({ begin: { options, keys, frozen, state } }: RecordingFile) {
  const clock = frozen ? 'standing still' : 'running'
  return { options, keys, clock, state: state === null ? 'that of a new double' : 'another' }
}

/** The part of a step that has to be equal. */
function comparable(step: Step, isSameTime: boolean): object {
  switch (step.do) {
    case 'send':
      return { do: step.do, world: step.world, ...comparableRequest(step.request) }
    case 'answer': {
      const { status, headers, body, fault } = isSameTime ? step : withoutTimes(step)
      return { do: step.do, world: step.world, status, headers, body, fault: fault ?? 'none' }
    }
    case 'clock':
    case 'restore':
      return { do: step.do, world: step.world }
    case 'world':
      return isSameTime ? inputOf(step) : { do: step.do }
    default:
      return inputOf(step)
  }
}

function inputOf({ at: _, digest: __, ...input }: Step): object {
  return input
}

/** The network adds headers and an address of its own, which have no effect. */
function comparableRequest({ method, path, query, body, base64, headers }: SendStep['request']) {
  const own = OWN_HEADERS.map(name => [name, headers[name]])
  return { method, path, query, body, base64, headers: Object.fromEntries(own) }
}

const OWN_HEADERS = ['authorization', 'content-type', 'idempotency-key']

function planOf(step: Step): unknown {
  return step.do === 'send' ? (step.planned ?? 'none') : undefined
}

/** A response without what depends on the time of the request. The length follows from the body. */
function withoutTimes(step: AnswerStep): AnswerStep {
  const kept = Object.entries(step.headers).filter(([name]) => !IN_TIME.test(name))
  const body = step.status < 400 ? step.body : step.body.replaceAll(INSTANT, '…')
  return { ...step, body, headers: Object.fromEntries(kept) }
}

const IN_TIME = /^(content-length|date|retry-after|x-ratelimit-(remaining|reset)|ratelimit)$/i

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

function iso(at: number): string {
  return new Date(at).toISOString()
}
