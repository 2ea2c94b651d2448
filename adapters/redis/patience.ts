import { RedisError } from './failures.js'

export interface Patience {
  /** Rejects when the reply takes too long, and at once while the server is known to be away. */
  wait<T>(call: () => Promise<T>): Promise<T>
}

export interface PatienceOptions {
  readonly patienceMs: number
  /** Asks whether the server is back. */
  readonly ping: () => Promise<unknown>
  /** Called after a long absence: the connection may be dead without anyone having been told. */
  readonly reconnect: () => void
  /** Milliseconds that only go up. */
  readonly now: () => number
}

/** Between two pings while the server is away. */
const PING_EVERY = 500
const RECONNECT_AFTER = 5_000

/**
 * One timer for all replies. A reply that takes too long rejects every waiting call, and no call is
 * sent until the server answers a ping: only the callers of the first moment wait.
 */
export function createPatience(options: PatienceOptions): Patience {
  const { patienceMs, ping, reconnect, now } = options
  // In the order they were sent: the first has waited longest.
  const waiting = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined
  let away: RedisError | undefined
  let awaySince = 0
  let lastPing = 0

  return {
    wait(call) {
      if (away) {
        askWhetherBack()
        return Promise.reject(away)
      }
      return new Promise((resolve, reject) => {
        const entry = { since: now(), reject }
        waiting.add(entry)
        if (!timer) timer = setTimeout(check, patienceMs)
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
    const left = oldest.since + patienceMs - now()
    if (left > 0) {
      timer = setTimeout(check, left)
      return
    }
    // This process may be the late one: replies that have arrived are read first.
    setImmediate(() => setImmediate(() => (waiting.has(oldest) ? giveUp() : check())))
  }

  function giveUp(): void {
    away = new RedisError(`Redis did not answer within ${patienceMs} ms`)
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
