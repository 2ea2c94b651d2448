import { type Awaitable, chain, isPromise, orElse } from '../lib/async.js'
import { isInteger } from '../lib/check-options.js'
import type { RateLimitStore } from '../ports.js'
import { memoryRateLimitStore } from './memory-rate-limits.js'
import type { Decision } from './windows-and-bans.js'

/** Runs a task after some ms. @returns a function that cancels it */
export type Timer = (task: () => void, ms: number) => () => void

export interface CircuitBreakerOptions {
  readonly rateLimitStore: RateLimitStore
  /** Time limit for a decision, in ms. */
  readonly timeoutMs: number
  readonly timer: Timer
  readonly onFailure: (error: unknown) => void
  readonly onRecovery: () => void
}

/** Interval in ms between probes of an unresponsive server. */
const RETRY_EVERY = 500

/**
 * Wraps a store that may fail, so that every request gets a decision, if need be from this process.
 * A timeout opens the circuit of that server: this process counts all its requests, and sends one
 * from time to time, without waiting, until it answers.
 */
export function withCircuitBreaker(
  options: CircuitBreakerOptions,
): Pick<RateLimitStore, 'consume'> {
  const { rateLimitStore, onFailure, onRecovery } = options
  const local = memoryRateLimitStore()
  const circuits = new Map<string, Circuit>()
  const failing = new Set<string>()

  return {
    consume(partition, limits, now) {
      const ask = () =>
        chain(rateLimitStore.consume(partition, limits, now), decision =>
          checkDecision(decision, now),
        )
      const decideHere = () => local.consume(partition, limits, now)
      const server = rateLimitStore.serverOf?.(partition) ?? ''
      const circuit = circuitOf(server)
      if (circuit.isOpen()) {
        circuit.retry(ask)
        return decideHere()
      }
      return orElse(
        () => (failing.has(server) ? chain(circuit.call(ask), recovered) : circuit.call(ask)),
        error => {
          // The clock failed, not the store.
          if (!Number.isFinite(now)) throw error
          failing.add(server)
          onFailure(error)
          return decideHere()
        },
      )

      function recovered(decision: Decision): Decision {
        if (failing.delete(server) && failing.size === 0) onRecovery()
        return decision
      }
    },
  }

  function circuitOf(server: string): Circuit {
    const known = circuits.get(server)
    if (known) return known
    const circuit = createCircuit(options)
    circuits.set(server, circuit)
    return circuit
  }
}

type Circuit = ReturnType<typeof createCircuit>

function createCircuit({ timeoutMs, timer, onFailure }: CircuitBreakerOptions) {
  let open = false
  let mayRetry = true

  return {
    /** True after a call that timed out, until the server answers. */
    isOpen: () => open,
    call,
    /** Probes the server, unless it was probed a moment ago. */
    retry(ask: () => Awaitable<unknown>): void {
      if (mayRetry) void orElse(() => chain(call(ask), close), onFailure)
      pauseRetries()
    },
  }

  function close(): void {
    open = false
  }

  function call<T>(ask: () => Awaitable<T>): Awaitable<T> {
    const answer = ask()
    if (!isPromise(answer)) return answer
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        open = true
        pauseRetries()
        reject(new Error(`The rate limit store did not answer within ${timeoutMs} ms`))
      }
      // First reads what has arrived: a busy process must not blame its delay on the server.
      let cancel = timer(() => {
        cancel = timer(giveUp, 1)
      }, timeoutMs)
      answer.then(resolve, reject).then(() => cancel())
    })
  }

  function pauseRetries(): void {
    if (!mayRetry) return
    mayRetry = false
    timer(() => {
      mayRetry = true
    }, RETRY_EVERY)
  }
}

/** @throws TypeError naming the field that cannot become a header or an Error body */
function checkDecision(decision: Decision, now: number): Decision {
  const { code, limit, remaining, reset, retryAfter, window, bannedUntil } = decision ?? {}
  const rules: Readonly<Record<keyof Decision, boolean>> = {
    code: code === undefined || code === 'rate_limit_exceeded' || code === 'api_key_banned',
    limit: isInteger(limit, 0),
    remaining: isInteger(remaining, 0),
    // Negative only before 1970.
    reset: isInteger(reset, Math.min(0, now / 1000)),
    retryAfter: code === undefined || isInteger(retryAfter, 1),
    window: window === 'minute' || window === 'day',
    bannedUntil: bannedUntil === undefined || isInteger(bannedUntil, Math.min(0, now)),
  }
  const field = Object.keys(rules).find(name => !rules[name as keyof Decision])
  if (!field) return decision
  throw new TypeError(`The rate limit store returned no decision: its \`${field}\` is invalid`)
}
