import { check, isOneOf, isSize, isText } from '../../../src/lib/options.js'
import type { Clock } from '../../../src/ports.js'
import type { Call } from '../../exchanges/recorder.js'
import { draw } from './chance.js'
import { type Armed, type ArmedFault, type DelayFault, type Fault, TIMES } from './fault.js'

import { checkFault, matches, type RequestHeaders, windowOf } from './scope.js'
import { createUse, type FaultUseLog } from './use.js'

export interface Faults {
  /**
   * Arms a fault, after those already armed.
   *
   * @throws OptionError
   */
  arm(fault: Fault): ArmedFault
  list(): readonly ArmedFault[]
  clear(): void
  /** Takes what applies to this request: a delay, another fault, both, or undefined. */
  take(call: Call, headers: RequestHeaders): TakenFaults | undefined
  readonly use: Pick<FaultUseLog, 'unused' | 'fired' | 'keep'>
}

export interface TakenFaults {
  readonly delay: DelayFault | undefined
  readonly fault: Exclude<Fault, DelayFault> | undefined
  /** To be called when one of them, by its kind, has affected the response. */
  fire(kind: Fault['kind']): void
}

/**
 * @param begin the faults armed at the start, such as those of a snapshot
 * @param beginAt when that is, in ms
 */
export function createFaults(
  keyIds: () => readonly string[],
  now: Clock,
  begin: readonly (Fault | ArmedFault)[] = [],
  beginAt = now(),
): Faults {
  let armed: Armed[] = []
  const use = createUse(() => armed)
  for (const one of begin) {
    // Not checked yet: it may be anything.
    const { left } = Object(one)
    arm(one, left === undefined ? one : 'restored', beginAt)
  }

  return {
    arm: fault => arm(fault, 'test', now()),
    list: () => armed.map(show),
    clear() {
      for (const one of armed) use.drop(one)
      armed = []
    },
    take(call, headers) {
      if (armed.length === 0) return undefined
      const request = { ...call, headers, at: now() }
      const ready = armed.filter(({ fault }) => matches(fault, request)).filter(isReady)
      if (ready.length === 0) return undefined
      const delay = ready.find(one => one.fault.kind === 'delay')
      const other = ready.find(one => one.fault.kind !== 'delay')
      return {
        delay: delay && (withJitter(delay, takeOnce(delay)) as DelayFault),
        fault: other && (takeOnce(other) as Exclude<Fault, DelayFault>),
        fire(kind) {
          const one = kind === 'delay' ? delay : other
          if (one) use.fire(one)
        },
      }
    },
    use,
  }

  function arm(given: Fault | ArmedFault, source: Armed['source'], at: number): ArmedFault {
    const { left, waiting, fired, drawn, ...fault } = { ...COUNTS, ...given }
    // A restored fault may be for a key that is added after it.
    checkFault(fault as Fault, left === undefined ? isOneOf(keyIds()) : isText)
    const isRandom = fault.chance !== undefined || (fault as DelayFault).jitter !== undefined
    const seed = isRandom ? (fault.seed ?? armed.length + 1) : fault.seed
    const one: Armed = {
      fault: { ...fault, ...windowOf(fault, at), ...(seed !== undefined && { seed }) } as Fault,
      source,
      at,
      left: left ?? fault.times ?? usualTimes(fault as Fault),
      waiting: waiting ?? (left === undefined ? (fault.nth ?? 1) - 1 : 0),
      fired: fired ?? 0,
      drawn: drawn ?? 0,
    }
    check('left', one.left, TIMES)
    for (const name of ['waiting', 'fired', 'drawn'] as const) check(name, one[name], isSize)
    armed.push(one)
    return show(one)
  }

  function takeOnce(one: Armed): Fault {
    if (one.left !== 'always') one.left--
    if (one.left === 0) {
      armed = armed.filter(other => other !== one)
      use.drop(one)
    }
    return one.fault
  }
}

const COUNTS = { left: undefined, waiting: undefined, fired: undefined, drawn: undefined }

function usualTimes({ from, until, chance }: Fault): number | 'always' {
  return from === undefined && until === undefined && chance === undefined ? 1 : 'always'
}

/** Whether it applies to a request that matches; counts those before. */
function isReady(one: Armed): boolean {
  if (one.waiting > 0) {
    one.waiting--
    return false
  }
  const { chance } = one.fault
  return chance === undefined || drawFrom(one) < chance
}

function withJitter(one: Armed, fault: Fault): Fault {
  const { ms, jitter = 0 } = fault as DelayFault
  if (jitter === 0) return fault
  return { ...fault, ms: ms + Math.floor(drawFrom(one) * (jitter + 1)) } as Fault
}

function drawFrom(one: Armed): number {
  return draw(one.fault.seed ?? 0, one.drawn++)
}

function show({ fault, left, waiting, fired, drawn }: Armed): ArmedFault {
  return {
    ...fault,
    left,
    ...(waiting > 0 && { waiting }),
    ...(fired > 0 && { fired }),
    ...(drawn > 0 && { drawn }),
  }
}
