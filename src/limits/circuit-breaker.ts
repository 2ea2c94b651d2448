import { type Awaitable, chain, isPromise, orElse } from '../lib/async.js'
import { isCount, isSize } from '../lib/options.js'
import type { RateLimitStore } from '../ports.js'
import type { Decision } from './decide.js'
import { memoryRateLimits } from './memory.js'

/** Runs a task after some ms. */
export type Timer = (task: () => void, ms: number) => void

export interface CircuitBreakerOptions {
  readonly rateLimits: RateLimitStore
  /** How long to wait for a decision, in ms. */
  readonly timeoutMs: number
  readonly timer: Timer
  readonly onFailure: (error: unknown) => void
}

/** How often a request is sent to a server that does not answer, in ms. */
const RETRY_EVERY = 500

/** The longest of the short waits that add up to `timeoutMs`, in ms. */
const LONGEST_STEP = 50

/**
 * The protection of a rate limit store that may fail: it always decides. Where the store throws,
 * rejects or returns something other than a decision, this process counts that request by itself. Where
 * it does not answer in time, the circuit opens: this process counts every request of that server,
 * and sends one of them from time to time, without waiting, until one is answered. So a failing
 * store leads neither to 500 nor to unlimited requests.
 */
export function withCircuitBreaker(
  options: CircuitBreakerOptions,
): Pick<RateLimitStore, 'consume'> {
  const { rateLimits, onFailure } = options
  const local = memoryRateLimits()
  const circuits = new Map<string, Circuit>()

  return {
    consume(partition, policy, now) {
      const ask = () => chain(rateLimits.consume(partition, policy, now), checkDecision)
      const decideHere = () => local.consume(partition, policy, now)
      const circuit = circuitOf(rateLimits.serverOf?.(partition) ?? '')
      if (circuit.isOpen()) {
        circuit.retry(ask)
        return decideHere()
      }
      return orElse(
        () => circuit.call(ask),
        error => {
          // The clock failed, not the store.
          if (!Number.isFinite(now)) throw error
          onFailure(error)
          return decideHere()
        },
      )
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

/** The calls to one server. */
interface Circuit {
  /** Whether the latest call was not answered in time. */
  isOpen(): boolean
  /** Rejects when the answer takes too long, and with it every call that waits already. */
  call<T>(ask: () => Awaitable<T>): Awaitable<T>
  /** Asks whether the server is back, unless it was asked a moment ago. */
  retry(ask: () => Awaitable<unknown>): void
}

function createCircuit({ timeoutMs, timer, onFailure }: CircuitBreakerOptions): Circuit {
  // Time passes in short steps, and a step that ends late counts once: the loop reads what has
  // arrived between two of them. A busy process thus does not take its own delay for the server's.
  const step = Math.ceil(Math.min(LONGEST_STEP, timeoutMs / 10))
  const steps = Math.max(2, Math.ceil(timeoutMs / step))
  // In insertion order, so the first has waited longest.
  const waiting = new Set<Waiting>()
  let elapsed = 0
  let isTicking = false
  let open = false
  let mayRetry = false

  return {
    isOpen: () => open,
    call,
    retry(ask) {
      if (!mayRetry) return
      pauseRetries()
      void orElse(() => chain(call(ask), close), onFailure)
    },
  }

  function close(): void {
    open = false
  }

  function call<T>(ask: () => Awaitable<T>): Awaitable<T> {
    const answer = ask()
    if (!isPromise(answer)) return answer
    return new Promise((resolve, reject) => {
      const entry = { until: elapsed + steps + (isTicking ? 1 : 0), reject }
      waiting.add(entry)
      if (!isTicking) timer(tick, step)
      isTicking = true
      answer.then(resolve, reject).finally(() => waiting.delete(entry))
    })
  }

  function tick(): void {
    elapsed++
    const [oldest] = waiting
    isTicking = oldest !== undefined
    if (!oldest) return
    timer(tick, step)
    if (elapsed >= oldest.until) giveUp()
  }

  function giveUp(): void {
    const error = new Error(`The rate limit store did not answer within ${timeoutMs} ms`)
    open = true
    pauseRetries()
    for (const { reject } of waiting) reject(error)
    waiting.clear()
  }

  function pauseRetries(): void {
    mayRetry = false
    timer(() => {
      mayRetry = true
    }, RETRY_EVERY)
  }
}

interface Waiting {
  /** The step at whose end it has waited long enough. */
  readonly until: number
  readonly reject: (error: unknown) => void
}

/** @throws TypeError naming the field that cannot become a header or an Error body */
function checkDecision(decision: Decision): Decision {
  const { code, limit, remaining, reset, retryAfter, window, bannedUntil } = decision ?? {}
  const rejected = code === 'rate_limit_exceeded' || code === 'api_key_banned'
  const broken =
    (!rejected && code !== undefined && 'code') ||
    (!isCount.accepts(limit) && 'limit') ||
    (!isSize.accepts(remaining) && 'remaining') ||
    (!Number.isSafeInteger(reset) && 'reset') ||
    (window !== 'minute' && window !== 'day' && 'window') ||
    (rejected && !isCount.accepts(retryAfter) && 'retryAfter') ||
    (bannedUntil !== undefined && !Number.isFinite(bannedUntil) && 'bannedUntil')
  if (broken) throw new TypeError(`The rate limit store returned no decision: check \`${broken}\``)
  return decision
}
