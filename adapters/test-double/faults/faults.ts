import { check, isOneOf, isSize, isText } from '../../../src/lib/check-options.js'
import type { Clock } from '../../../src/ports.js'
import type { Call } from '../../verdict/log/recorder.js'
import type { FaultUse } from '../../verdict/rules/unused-faults.js'
import { draw } from './chance.js'
import {
  type Armed,
  type ArmedFault,
  checkFault,
  type DelayFault,
  type Fault,
  inMs,
  matches,
  type RequestHeaders,
  TIMES,
  windowOf,
} from './fault.js'
import { wholeText } from './text.js'

export type Faults = ReturnType<typeof createFaults>

export interface TakenFaults {
  readonly delay?: DelayFault | undefined
  readonly fault?: Exclude<Fault, DelayFault> | undefined
  /** Must be called when the fault of this kind has affected the response. */
  readonly fire?: (kind: Fault['kind']) => void
}

/** @param isWorld allows faults of the options to name keys of another double */
export function createFaults(
  keyIds: () => readonly string[],
  now: Clock,
  begin: readonly (Fault | ArmedFault)[] = [],
  beginAt = now(),
  isWorld = false,
) {
  let armed: Armed[] = []
  /** Faults that were cleared, or used up by a request with another response, such as 401. */
  const unfired = new Set<Armed>()
  const fired = new Set<Fault>()
  for (const one of begin) {
    const { left } = Object(one)
    arm(one, left === undefined ? one : 'restored', beginAt)
  }

  return {
    /** Arms a fault, after those already armed. @throws OptionError */
    arm: (fault: Fault) => arm(fault, 'test', now()),
    list: (): readonly ArmedFault[] => armed.map(show),
    /** Disarms the faults equal to this one, as `list` or `arm` returned it; by default all. */
    clear(fault?: Fault): void {
      for (const one of armed) if (!fault || textOf(one.fault) === textOf(fault)) drop(one)
    },
    take(call: Call, headers: RequestHeaders): TakenFaults | undefined {
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
          if (one) fire(one)
        },
      }
    },
    /** Marks the armed faults as held by a snapshot, which may arm them again. */
    keep(): void {
      for (const one of armed) one.isKept = true
    },
    use: {
      fired,
      unused: () =>
        [...unfired, ...armed]
          .filter(one => one.fired === 0)
          .map(({ fault, source, at, isKept }) => ({
            text: wholeText(fault),
            keyId: fault.keyId ?? null,
            at,
            option: typeof source === 'string' ? undefined : source,
            isKept,
          })),
    } satisfies FaultUse,
  }

  function arm(given: Fault | ArmedFault, source: Armed['source'], at: number): ArmedFault {
    const { left, waiting, fired, drawn, ...fault } = { ...COUNTS, ...given }
    // A restored fault may name a key that is added later.
    const isElsewhere = left !== undefined || (isWorld && source !== 'test')
    checkFault(fault as Fault, isElsewhere ? isText : isOneOf(keyIds()))
    const isRandom = fault.chance !== undefined || (fault as DelayFault).jitter !== undefined
    const seed = isRandom ? (fault.seed ?? armed.length + 1) : fault.seed
    const one: Armed = {
      fault: {
        ...structuredClone(inMs(fault as Fault)),
        ...windowOf(fault, at),
        ...(seed !== undefined && { seed }),
      } as Fault,
      source,
      at,
      isKept: source === 'restored',
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
    if (one.left === 0) drop(one)
    return one.fault
  }

  function drop(one: Armed): void {
    armed = armed.filter(other => other !== one)
    if (one.fired === 0) unfired.add(one)
  }

  function fire(one: Armed): void {
    one.fired++
    unfired.delete(one)
    if (typeof one.source !== 'string') fired.add(one.source)
  }
}

const COUNTS = { left: undefined, waiting: undefined, fired: undefined, drawn: undefined }

/** Ignores the fields that change while a fault is armed. */
function textOf(given: Fault | ArmedFault): string {
  const { left, waiting, fired, drawn, ...fault } = { ...COUNTS, ...given }
  return JSON.stringify(inMs(fault as Fault))
}

function usualTimes({ from, until, chance }: Fault): number | 'always' {
  return from === undefined && until === undefined && chance === undefined ? 1 : 'always'
}

/** Applies `nth` and `chance` to a matching request, and counts it. */
function isReady(one: Armed): boolean {
  if (one.waiting > 0) {
    one.waiting--
    return false
  }
  const { chance } = one.fault
  return chance === undefined || drawFrom(one) < chance
}

function withJitter(one: Armed, fault: Fault): Fault {
  const { duration, jitter = 0 } = fault as DelayFault
  if (jitter === 0) return fault
  const extra = Math.floor(drawFrom(one) * (Number(jitter) + 1))
  return { ...fault, duration: Number(duration) + extra } as Fault
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
