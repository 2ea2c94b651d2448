import type { Fault } from '../faults/fault.js'
import type { TakenFaults } from '../faults/faults.js'
import type { Watch } from '../requests.js'
import type { Shown } from './faults-at.js'
import { createPoints, type Schedule } from './schedule.js'

/** A request of a run, and how far it is. */
export interface Sent extends Shown {
  answer: Shown['answer']
  /** Whether a fault makes it wait for ever. */
  isHanging: boolean
  /** As it was sent, even if it was lost on its way; undefined before. */
  status: number | undefined
}

export type Watched = ReturnType<typeof watchRequests>

/** Names the requests of a run, and gives those of the schedule their faults. */
export function watchRequests(schedule: Schedule, most: number) {
  const faults = new Map(schedule.map(({ point, fault }) => [point, fault]))
  const pointOf = createPoints()
  const requests: Sent[] = []
  const unaffected = new Set<Sent>()
  let [hasEnded, isOver] = [false, false]

  return {
    watch: (({ operation, keyId }) => {
      if (hasEnded) return NOTHING
      // One that is too many is held, so that the work cannot go on for ever.
      if (requests.length === most) {
        isOver = true
        return HELD
      }
      const point = pointOf(operation)
      const fault = faults.get(point)
      faults.delete(point)
      const isHanging = fault?.kind === 'hang'
      const sent: Sent = {
        point,
        operation,
        keyId,
        isHanging,
        status: undefined,
        answer: undefined,
      }
      requests.push(sent)
      if (fault) unaffected.add(sent)
      return {
        planned: fault && planned(fault, () => unaffected.delete(sent)),
        answered({ status, body }, isFaultless) {
          if (isHanging) return
          sent.status = status
          if (isFaultless) sent.answer = { status, length: body.length }
        },
      }
    }) satisfies Watch,
    /** In the order of their arrival. */
    requests: requests as readonly Sent[],
    /** Whether there were more than `most`. */
    isOver: () => isOver,
    /** Whether every request of the schedule has arrived. */
    isReached: () => faults.size === 0,
    /** The requests of the schedule that have not. */
    missing: (): readonly string[] => [...faults.keys()],
    /** Those that have arrived, and on which their fault had no effect: a 401 comes before a status. */
    unaffected: (): readonly Sent[] => [...unaffected],
    /** What comes from now on is not of the run. */
    end() {
      hasEnded = true
    },
  }
}

const NOTHING = { planned: undefined, answered() {} }

const HELD = { ...NOTHING, planned: { fault: { kind: 'hang' } } as const }

function planned(fault: Fault, fire: () => void): TakenFaults {
  return fault.kind === 'delay' ? { delay: fault, fire } : { fault, fire }
}
