import type { Sleep } from '../../adapters/client/index.js'
import type { Clock } from '../../src/index.js'

/** Time that passes only when nothing else can happen. */
export interface VirtualTime {
  readonly clock: Clock
  readonly sleep: Sleep
  /** Lets time pass, from one end of a sleep to the next, until the work is done. */
  run<T>(work: Promise<T>): Promise<T>
  /** While this goes on, no time passes. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /** How many sleep now. */
  readonly sleeping: number
}

/** @param settled resolves when nothing else can happen */
export function createVirtualTime(start: number, settled = everythingElse): VirtualTime {
  const sleepers = new Set<{ readonly until: number; readonly end: () => void }>()
  let now = start
  let held = 0

  return {
    clock: () => now,
    sleep(ms, { signal }) {
      return new Promise<void>(resolve => {
        const end = () => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const sleeper = { until: now + ms, end }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', end)
        if (signal?.aborted) end()
      })
    },
    async run(work) {
      let done = false
      const end = () => {
        done = true
      }
      work.then(end, end)
      for (;;) {
        await settled()
        if (done) return work
        if (held === 0) passTime()
      }
    },
    async hold(work) {
      held++
      try {
        return await work()
      } finally {
        held--
      }
    },
    get sleeping() {
      return sleepers.size
    },
  }

  function passTime(): void {
    const next = Math.min(...[...sleepers].map(({ until }) => until))
    if (next === Number.POSITIVE_INFINITY) return
    now = Math.max(now, next)
    for (const { until, end } of [...sleepers]) if (until <= now) end()
  }
}

/** Long enough for a response to be read to its end. */
export async function everythingElse(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
}
