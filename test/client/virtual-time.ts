import type { Sleep } from '../../adapters/client/index.js'
import { runOn } from '../../adapters/test-double/auto-advance.js'
import { ControlledClock } from '../../adapters/test-double/clock/clock.js'
import type { Clock } from '../../src/index.js'

/** The clock of a test double without the double, for other servers. */
export interface VirtualTime {
  readonly clock: Clock
  readonly sleep: Sleep
  /** Lets time pass, from one end of a sleep to the next, until the work is done. */
  run<T>(work: Promise<T>): Promise<T>
  /** No time passes while this is pending. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** The number of current sleepers. */
  readonly sleeping: number
}

/** @param settled resolves when nothing else can happen */
export function createVirtualTime(start: number, settled = everythingElse): VirtualTime {
  const activity = new Set<() => void>()
  const onWait = () => {
    for (const notice of activity) notice()
  }
  const clock = new ControlledClock({ frozen: true, now: start }, { onWait })
  const turns = { pass: settled, keepAlive() {} }
  let held = 0
  let sleeping = 0

  const time = { clock, events: { activity }, isBusy: () => held > 0 }

  return {
    clock,
    sleep: (ms, options) => counted(() => clock.sleep(ms, options)),
    run: work => runOn(time, () => work, turns),
    async hold(work) {
      held++
      try {
        return await work()
      } finally {
        held--
      }
    },
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
