import type { WaitReason } from '../client/hooks.js'
import type { Time } from '../client/time.js'
import { notify } from '../warnings.js'
import type { ReadOptions } from './verify-options.js'

/** The rest of `maxWait`, for all waits of a run. */
export interface Deadline {
  allows(ms: number): boolean
  /** Waits; the caller has asked `allows`. */
  wait(ms: number, reason: WaitReason): Promise<void>
}

export function createDeadline(time: Time, { maxWait: maxWaitMs, onWait }: ReadOptions): Deadline {
  let left = maxWaitMs

  return {
    allows: ms => ms <= left,
    async wait(ms, reason) {
      left -= ms
      const until = time.now() + ms
      notify('onWait', onWait, { reason, until, waitMs: ms })
      await time.until(until)
    },
  }
}
