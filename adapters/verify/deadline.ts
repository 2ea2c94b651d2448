import type { Time } from '../client/time.js'
import type { ReadOptions } from './verify-options.js'

/** What is left of `maxWaitMs` for all waits of a run. */
export interface Deadline {
  allows(ms: number): boolean
  /** The caller has asked `allows`. */
  wait(ms: number, reason: string): Promise<void>
}

export function createDeadline(time: Time, { maxWaitMs, onWait }: ReadOptions): Deadline {
  let left = maxWaitMs

  return {
    allows: ms => ms <= left,
    async wait(ms, reason) {
      left -= ms
      onWait({ ms, reason })
      await time.until(time.now() + ms)
    },
  }
}
