import type { JudgedDouble } from '../double.js'
import { countResources, createTurns } from '../run.js'

/** The work does not end. The message completes a sentence that begins with it. */
export class EndlessError extends Error {
  override readonly name = 'EndlessError'
}

// The code under test may run on fake timers.
const { setTimeout, setImmediate = (call: () => void) => setTimeout(call) } = globalThis

/** How many turns of the event loop a response takes in this process, and some to spare. */
const QUICK_TURNS = 4

/** How many turns of real time to wait for what else goes on in the process, such as a file. */
const PATIENT_TURNS = 12

/** How many turns of real time without anything happening prove that nothing will. */
const IDLE_TURNS = 20

type VirtualTime = Pick<JudgedDouble, 'clock' | 'events' | 'isBusy'>

/**
 * Runs work in virtual time, as `double.run` does, for many short runs: it waits in real time only
 * when the process waits for something other than the double, such as a file or a real timer.
 *
 * @param limit how much time may pass, in ms
 * @param isOver whether the work must not go on
 * @throws EndlessError
 */
export async function runInVirtualTime(
  { clock, events, isBusy }: VirtualTime,
  work: () => Promise<void>,
  { limit, isOver }: { readonly limit: number; readonly isOver: () => boolean },
): Promise<void> {
  const turns = createTurns()
  const others = countResources()
  let isDone = false
  let isQuiet = false
  const onEvent = () => {
    isQuiet = false
  }
  const end = () => {
    isDone = true
  }
  events.activity.add(onEvent)
  const result = work()
  result.then(end, end)
  try {
    let [patient, idle, passed] = [0, 0, 0]
    for (;;) {
      isQuiet = true
      for (let turn = 0; turn < QUICK_TURNS && !isDone; turn++) await oneTurn()
      if (isDone) return await result
      if (isOver()) throw new EndlessError('goes on sending requests')
      if (!isQuiet || isBusy()) {
        patient = 0
        continue
      }
      if (patient < PATIENT_TURNS && countResources() > others) {
        patient++
        await turns.pass(true)
        continue
      }
      patient = 0
      const next = clock.next()
      if (next !== undefined) {
        idle = 0
        passed += Math.max(0, next - clock.now())
        if (passed > limit)
          throw new EndlessError(`waits longer than ${limit / 1_000} s of virtual time`)
        clock.reach(next)
        continue
      }
      if (++idle > IDLE_TURNS) throw new EndlessError('waits for ever')
      await turns.pass(true)
    }
  } finally {
    events.activity.delete(onEvent)
  }
}

/** Waits until no request is being handled. */
export async function untilIdle({ isBusy }: Pick<JudgedDouble, 'isBusy'>): Promise<void> {
  while (isBusy()) await oneTurn()
}

function oneTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
