/**
 * Rejects if the promise takes longer than `ms`. Waits in steps, and a turn of the event loop
 * longer: a machine that stalls uses up one step, and an answer that has arrived is read first.
 * @param late makes the reason
 */
export async function inTime<T>(
  ms: number,
  promise: Promise<T>,
  late: () => Error = () => new Error(`Timeout after ${ms} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    const wait = (left: number) => {
      const next = () => (left > 0 ? wait(left - STEP) : reject(late()))
      timer = setTimeout(next, Math.max(0, Math.min(left, STEP)))
    }
    wait(ms)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
  }
}

/** In ms. */
const STEP = 250
