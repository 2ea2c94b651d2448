import type { Watch } from '../answer-requests.js'
import type { Fault } from '../faults/fault.js'
import type { TakenFaults } from '../faults/faults.js'
import type { Shown } from './faults-at.js'
import { createPoints, type Schedule } from './schedule.js'

export interface Sent extends Shown {
  answer: Shown['answer']
  isHanging: boolean
  /** As sent, even if the response was lost; undefined before. */
  status: number | undefined
}

export type Watched = ReturnType<typeof watchRequests>

/** Names the requests of a run, and injects the faults of the schedule. */
export function watchRequests(schedule: Schedule, most: number) {
  const faults = new Map(schedule.map(({ point, fault }) => [point, fault]))
  const pointOf = createPoints()
  const requests: Sent[] = []
  const unaffected = new Set<Sent>()
  let [hasEnded, isOver] = [false, false]

  return {
    watch: (({ operation, keyId }) => {
      if (hasEnded) return NOTHING
      // The first request beyond the maximum is held, so that the work cannot go on forever.
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
    requests: requests as readonly Sent[],
    isOver: () => isOver,
    isReached: () => faults.size === 0,
    missing: (): readonly string[] => [...faults.keys()],
    /** Requests whose fault had no effect: a 401 comes before a status. */
    unaffected: (): readonly Sent[] => [...unaffected],
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
