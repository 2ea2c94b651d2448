import { LONGEST_TIMER } from '../../src/lib/check-options.js'
import { setInterval } from '../platform.js'

let pending = 0
let timer: Partial<NodeJS.Timeout> | undefined

/** Keeps the process alive until the promise settles, as the socket of a pending call would. */
export async function keptAlive<T>(promise: Promise<T>): Promise<T> {
  timer ??= setInterval(() => {}, LONGEST_TIMER)
  if (pending++ === 0) timer.ref?.()
  try {
    return await promise
  } finally {
    if (--pending === 0) timer.unref?.()
  }
}
