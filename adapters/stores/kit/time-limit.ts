/**
 * Rejects if the promise takes longer than `ms`. Waits in steps, as a machine that stalls uses up
 * one, and a turn of the event loop longer, which reads an answer that has arrived.
 */
export async function inTime<T>(
  ms: number,
  promise: Promise<T>,
  late: () => Error = () => new Error(`Timeout after ${ms} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    const wait = (left: number) => {
      const next = () => (left > 0 ? wait(left - STEP_MS) : reject(late()))
      timer = setTimeout(next, Math.max(0, Math.min(left, STEP_MS)))
    }
    wait(ms)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
  }
}

const STEP_MS = 250
