import type { WaitReason } from '../client/hooks.js'
import type { Time } from '../client/time.js'
import { notify } from '../warnings.js'
import type { ReadOptions } from './verify-options.js'

export type Deadline = ReturnType<typeof createDeadline>

/** The rest of `maxWait`, for all waits of a run. */
export function createDeadline(time: Time, { maxWait: maxWaitMs, onWait }: ReadOptions) {
  let left = maxWaitMs

  return {
    allows: (ms: number) => ms <= left,
    /** Waits; the caller has asked `allows`. */
    async wait(ms: number, reason: WaitReason): Promise<void> {
      left -= ms
      const until = time.now() + ms
      notify('onWait', onWait, { reason, until, waitMs: ms })
      await time.until(until)
    },
  }
}
