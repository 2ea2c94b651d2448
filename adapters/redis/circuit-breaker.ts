import { RedisError } from './failures.js'

export interface CircuitBreaker {
  /** Rejects when the reply takes too long, and immediately while the circuit is open. */
  run<T>(call: () => Promise<T>): Promise<T>
}

export interface CircuitBreakerOptions {
  readonly timeoutMs: number
  /** Checks whether the server is back. */
  readonly ping: () => Promise<unknown>
  /** Called after a long outage: the connection may have died silently. */
  readonly reconnect: () => void
  /** A monotonic clock, in ms. */
  readonly now: () => number
}

/** Between two pings while the server is away. */
const PING_EVERY = 500
const RECONNECT_AFTER = 5_000

/**
 * One timer for all calls. A late reply rejects every pending call and opens the circuit: nothing is
 * sent until the server answers a ping, so only the first callers wait.
 */
export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  const { timeoutMs, ping, reconnect, now } = options
  // In insertion order, so the first has waited longest.
  const waiting = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined
  let away: RedisError | undefined
  let awaySince = 0
  let lastPing = 0

  return {
    run(call) {
      if (away) {
        askWhetherBack()
        return Promise.reject(away)
      }
      return new Promise((resolve, reject) => {
        const entry = { since: now(), reject }
        waiting.add(entry)
        if (!timer) timer = setTimeout(check, timeoutMs)
        call()
          .then(resolve, reject)
          .finally(() => waiting.delete(entry))
      })
    },
  }

  function check(): void {
    timer = undefined
    const [oldest] = waiting
    if (!oldest) return
    const left = oldest.since + timeoutMs - now()
    if (left > 0) {
      timer = setTimeout(check, left)
      return
    }
    // This process may have been busy: read the replies that have arrived first.
    setImmediate(() => setImmediate(() => (waiting.has(oldest) ? giveUp() : check())))
  }

  function giveUp(): void {
    away = new RedisError(`Redis did not answer within ${timeoutMs} ms`)
    awaySince = now()
    lastPing = awaySince
    for (const { reject } of waiting) reject(away)
    waiting.clear()
  }

  function askWhetherBack(): void {
    const instant = now()
    if (instant - lastPing < PING_EVERY) return
    lastPing = instant
    if (instant - awaySince > RECONNECT_AFTER) {
      awaySince = instant
      reconnect()
    }
    ping().then(() => {
      away = undefined
    }, ignore)
  }
}

interface Waiting {
  readonly since: number
  readonly reject: (error: unknown) => void
}

function ignore(): void {}
