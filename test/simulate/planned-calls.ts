export type Moment = 'before' | 'after'

interface Alarm<Call> {
  readonly call: Call | 'any'
  readonly when: Moment
  left: number
  readonly task: () => void
}

export function createPlannedCalls<Call extends string, Failure>() {
  let alarms: Alarm<Call>[] = []
  let failures: Failure[] = []
  const metBy = (name: Call) => alarms.filter(({ call }) => call === 'any' || call === name)

  return {
    /** Calls back before or after the call of that number and kind, counted from now on. */
    atCall(left: number, when: Moment, task: () => void, call: Call | 'any' = 'any'): void {
      alarms.push({ call, when, left, task })
    },
    /** The next call that it is meant for fails. */
    failNext: (failure: Failure) => void failures.push(failure),
    /** Nothing is planned any more. */
    heal(): void {
      alarms = []
      failures = []
    },
    /** Such a call begins or ends. */
    ring(name: Call, now: Moment): void {
      const isDue = ({ left, when }: Alarm<Call>) => left < 0 || (left === 0 && when === now)
      const due = metBy(name).filter(isDue)
      if (due.length > 0) alarms = alarms.filter(alarm => !due.includes(alarm))
      for (const { task } of due) task()
    },
    /** Such a call is over. */
    count(name: Call): void {
      for (const alarm of metBy(name)) alarm.left--
    },
    /** The first failure that is meant for this call. */
    takeFailure(isMeant: (failure: Failure) => boolean): Failure | undefined {
      const next = failures.find(isMeant)
      if (next) failures = failures.filter(other => other !== next)
      return next
    },
  }
}
