import type { Sleep } from '../../adapters/client/index.js'
import { runOn } from '../../adapters/test-double/auto-advance.js'
import { ControlledClock } from '../../adapters/test-double/clock/clock.js'

export type VirtualTime = ReturnType<typeof createVirtualTime>

/**
 * The clock of a test double without the double, for other servers.
 *
 * @param settled resolves when nothing else can happen
 */
export function createVirtualTime(start: number, settled = everythingElse) {
  const activity = new Set<() => void>()
  const onWait = () => {
    for (const notice of activity) notice()
  }
  const clock = new ControlledClock({ frozen: true, now: start }, { onWait })
  const turns = { pass: settled, keepAlive() {} }
  let held = 0
  let sleeping = 0

  const time = { clock, events: { activity }, isBusy: () => held > 0 }

  const sleep: Sleep = (ms, options) => counted(() => clock.sleep(ms, options))

  return {
    clock,
    sleep,
    /** Lets time pass, from one end of a sleep to the next, until the work is done. */
    run: <T>(work: Promise<T>): Promise<T> => runOn(time, () => work, turns),
    /** No time passes while this is pending. */
    async hold<T>(work: () => Promise<T>): Promise<T> {
      held++
      try {
        return await work()
      } finally {
        held--
      }
    },
    /** The number of current sleepers. */
    get sleeping() {
      return sleeping
    },
  }

  async function counted(sleep: () => Promise<void>): Promise<void> {
    sleeping++
    try {
      await sleep()
    } finally {
      sleeping--
    }
  }
}

/** Long enough for a response to be read to its end. */
export async function everythingElse(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
}
