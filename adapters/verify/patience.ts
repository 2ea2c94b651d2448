import type { Time } from '../client/time.js'
import type { VerifyWait } from './options.js'

/** All waits of a run, which together take no longer than `maxWaitMs`. */
export interface Patience {
  allows(ms: number): boolean
  /** The caller has asked `allows`. */
  wait(ms: number, reason: string): Promise<void>
}

export function createPatience(
  time: Time,
  maxWaitMs: number,
  onWait: (wait: VerifyWait) => void,
): Patience {
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
