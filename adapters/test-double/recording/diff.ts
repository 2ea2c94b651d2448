import { firstDifference } from './difference.js'
import type { AnswerStep, RecordingFile, SendStep, Step } from './file.js'
import type { Difference } from './replay-steps.js'

/**
 * Compares two recordings of the same work. If their clocks differ, times, limits and digests do not count.
 * @returns the first different step, 0 being the beginning; if an injected fault caused it, also
 * the first difference apart from faults
 */
export function differencesOf(good: RecordingFile, bad: RecordingFile): readonly Difference[] {
  const beginning = firstDifference(beginningOf(good), beginningOf(bad))
  if (beginning !== undefined) return [{ step: 0, what: `the recordings begin with ${beginning}` }]
  const first = firstStep(good, bad)
  if (!first) return []
  const isInjected = [good, bad].some(({ steps }) => hasFault(steps[first.step - 1]))
  const next = isInjected ? firstWithoutFault(good, bad) : undefined
  return next ? [first, next] : [first]
}

function firstStep(good: RecordingFile, bad: RecordingFile): Difference | undefined {
  const isFrozen = good.begin.frozen
  let isSameTime = good.begin.at === bad.begin.at
  let planned: Difference | undefined
  for (const [index, one] of good.steps.entries()) {
    const { step } = one
    const other = bad.steps[index]
    if (!other) return { step, what: 'the second recording ends before it' }
    if (one.do !== other.do) return { step, what: `${describe(other)} instead of ${describe(one)}` }
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
  // The effect of a planned fault says more than the plan, which differs at an earlier step.
  if (bad.steps.length === good.steps.length) return planned
  return { step: good.steps.length + 1, what: 'the first recording ends before it' }
}

function firstWithoutFault(good: RecordingFile, bad: RecordingFile): Difference | undefined {
  const known = new Map(good.steps.map(step => [nameOf(step), step]))
  for (const other of bad.steps) {
    const one = known.get(nameOf(other))
    if ((other.do !== 'send' && other.do !== 'answer') || hasFault(other) || hasFault(one)) continue
    const what = one
      ? firstDifference(comparable(one, false), comparable(other, false))
      : 'the first recording does not have it'
    if (what !== undefined) return { step: other.step, what }
  }
  return undefined
}

function nameOf(step: Step): string {
  return 'id' in step ? `${step.do} ${step.id}` : ''
}

function hasFault(step: Step | undefined): boolean {
  if (step?.do === 'answer') return step.fault !== undefined
  return step?.do === 'run' || (step?.do === 'send' && step.planned !== undefined)
}

export function describe(step: Step): string {
  const where = step.world === undefined ? '' : ` in world ${step.world}`
  switch (step.do) {
    case 'send':
      return `request ${step.id}, ${step.request.method} ${step.request.path}${where}`
    case 'run':
      return `request ${step.id} runs after its delay${where}`
    case 'answer':
      return `the response to request ${step.id}${where}`
    default:
      return `${step.do}${where}`
  }
}

function beginningOf({ begin: { options, keys, frozen, state } }: RecordingFile) {
  const clock = frozen ? 'standing still' : 'running'
  return { options, keys, clock, state: state === null ? 'that of a new double' : 'another' }
}

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

/** Each run has its own port. */
function comparableRequest({ method, path, query, body, base64, headers }: SendStep['request']) {
  return { method, path, query, body, base64, headers: { ...headers, host: undefined } }
}

function planOf(step: Step): unknown {
  return step.do === 'send' ? (step.planned ?? 'none') : undefined
}

/** Drops the fields that depend on the time of the request. The length follows from the body. */
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
