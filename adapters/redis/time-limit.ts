import { setTimeout as pause } from 'node:timers/promises'

/** Rejects if the promise takes longer than `ms`. */
export async function inTime<T>(ms: number, promise: Promise<T>): Promise<T> {
  const settled = new AbortController()
  try {
    return await Promise.race([promise, expire(ms, settled.signal)])
  } finally {
    settled.abort()
  }
}

/** Waits in steps, so a machine that stalls uses up one step rather than the whole limit. */
async function expire(ms: number, signal: AbortSignal): Promise<never> {
  for (let left = ms; left > 0; left -= STEP) {
    await pause(Math.min(left, STEP), undefined, { signal })
  }
  throw new Error(`Timeout after ${ms} ms`)
}

/** In ms. */
const STEP = 250
