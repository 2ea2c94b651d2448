/** The least a limiter can do, for servers that bring none: one counter for the running minute. */
export function createMinute(limit) {
  let minute = 0
  let used = 0
  return () => {
    const now = Math.floor(Date.now() / 60_000)
    if (now !== minute) {
      minute = now
      used = 0
    }
    return { limit, remaining: limit - ++used, reset: (minute + 1) * 60 }
  }
}
