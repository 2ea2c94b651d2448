import type { Awaitable } from '../../src/lib/async.js'
import { setImmediate, setTimeout } from '../platform.js'
import type { ControlledClock } from './clock/clock.js'
import type { EventLog } from './events.js'

export interface PassingTime {
  readonly clock: Pick<ControlledClock, 'next' | 'reach'>
  readonly events: Pick<EventLog, 'activity'>
  isBusy(): boolean
}

/** Runs the work while time passes: whenever nothing else can happen, the next wait ends. */
export async function runOn<T>(
  { clock, events: { activity }, isBusy }: PassingTime,
  work: () => Awaitable<T>,
  turns: Turns = createTurns(),
): Promise<T> {
  let isDone = false
  let isQuiet = false
  const end = () => {
    isDone = true
    onActivity()
  }
  const onActivity = () => {
    isQuiet = false
    turns.keepAlive()
  }
  activity.add(onActivity)
  const result = (async () => work())()
  result.then(end, end)
  try {
    while (!isDone) {
      isQuiet = true
      await turns.pass(clock.next() !== undefined, () => isQuiet)
      const next = clock.next()
      if (next === undefined || isDone || !isQuiet || isBusy()) continue
      // First lets other runs see the effect of the waits that end now.
      for (const notice of activity) notice()
      clock.reach(next)
    }
    return await result
  } finally {
    activity.delete(onActivity)
  }
}

export interface Turns {
  /**
   * @param keepsAlive lets a process that waits for nothing else go on
   * @param isQuiet returns true if nothing has happened since the call
   */
  pass(keepsAlive: boolean, isQuiet?: () => boolean): Promise<void>
  keepAlive(): void
}

/** A request takes a few turns, also over a socket, and timers of zero length, two in a row, come first. */
export function createTurns(): Turns {
  let timer: Partial<NodeJS.Timeout> | undefined
  let isAlive = false

  return {
    async pass(keepsAlive) {
      isAlive = keepsAlive
      for (let turn = 0; turn < 2; turn++) {
        for (let poll = 0; poll < 4; poll++) {
          await new Promise<void>(resolve => setImmediate(resolve))
        }
        await new Promise<void>(resolve => {
          timer = setTimeout(resolve)
          if (!isAlive) timer.unref?.()
        })
      }
    },
    keepAlive() {
      isAlive = true
      timer?.ref?.()
    },
  }
}
