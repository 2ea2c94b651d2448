import { LONGEST_TIMER } from '../../src/lib/check-options.js'
import { setInterval } from '../platform.js'

let pending = 0
let timer: Partial<NodeJS.Timeout> | undefined

/** Keeps the process alive, as the socket of a pending call would, until the result is called. */
export function keepAlive(): () => void {
  timer ??= setInterval(() => {}, LONGEST_TIMER)
  if (pending++ === 0) timer.ref?.()
  return () => {
    if (--pending === 0) timer?.unref?.()
  }
}

export async function keptAlive<T>(promise: Promise<T>): Promise<T> {
  const end = keepAlive()
  try {
    return await promise
  } finally {
    end()
  }
}
