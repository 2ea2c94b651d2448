import type { CastOptions } from './cast.js'
import type { Watcher, WireRequest, WireResponse } from './network.js'
import type { ActorSetting } from './scenario.js'
import { ensure } from './violation.js'

/** The shortest pause before a retry when no response said how long to wait, in ms. */
const SHORTEST_PAUSE = 1_000

interface Attempt {
  state: 'under way' | 'lost' | 'failed' | 'rejected' | 'done'
  /** Until then, the client may not send it again. */
  until: number
  /** Number of times it was lost or failed. */
  failures: number
}

/** Watches a polite client, by what it can know. */
export function watchManners({ name, client }: ActorSetting, world: CastOptions): Watcher {
  const { note, isQuiet, hasClockSteps } = world
  const { now } = world.scheduler
  const inFlight = new Set<WireRequest>()
  const creates = new Map<string, Attempt>()
  /** By API key: a client of another key starts anew. */
  const blocked = new Map<string, number>()
  const exhausted = new Map<string, number>()

  return {
    sent(request) {
      const blockedUntil = blockOf(request)
      // Timers have no fractions of a millisecond.
      ensure(now() >= blockedUntil - 1, 'client.waits', () => earlyFor(blockedUntil))
      const reset = exhausted.get(keyOf(request)) ?? Number.NEGATIVE_INFINITY
      // Whatever a client takes from `Date` is late, never early.
      const isReset = now() >= reset || hasClockSteps
      ensure(isReset, 'client.waits', () => `${earlyFor(reset)} for Reset, and nothing remained`)
      if (request.body !== undefined) checkRepeat(request, request.body)
      inFlight.add(request)
      const count = [...inFlight].filter(one => keyOf(one) === keyOf(request)).length
      const { maxConcurrent } = client
      const message = () => `${name} has ${count} requests in flight, and may have ${maxConcurrent}`
      ensure(count <= maxConcurrent, 'client.waits', message)
    },
    received(request, response, isWhole) {
      inFlight.delete(request)
      const wait = Math.max(SHORTEST_PAUSE, waitOf(response))
      if (isWhole || response.status >= 400) learn(request, stateOf(response), wait)
      if (isWhole) learnReset(request, response)
      if (response.status !== 429) return
      note('429 for a polite client')
      ensure(!isQuiet, 'client.spared', () => `${name} is rejected: ${response.body}`)
      blocked.set(keyOf(request), Math.max(blockOf(request), now() + waitOf(response)))
    },
    failed(request) {
      inFlight.delete(request)
      learn(request, 'lost', SHORTEST_PAUSE)
    },
  }

  function blockOf(request: WireRequest): number {
    return blocked.get(keyOf(request)) ?? Number.NEGATIVE_INFINITY
  }

  /** A response of a window that is over says nothing of the next, and within one the least counts. */
  function learnReset(request: WireRequest, { headers }: WireResponse): void {
    const key = keyOf(request)
    const reset = Number(headers['x-ratelimit-reset']) * 1_000
    if (!(reset > now())) return
    if (headers['x-ratelimit-remaining'] === '0') exhausted.set(key, reset)
    else if (exhausted.get(key) !== reset) exhausted.delete(key)
  }

  function checkRepeat(request: WireRequest, body: string): void {
    const before = creates.get(body)
    const failures = before?.failures ?? 0
    creates.set(body, { state: 'under way', until: now(), failures })
    if (!before) return
    const { state, until } = before
    note('repeated create')
    const message = () =>
      `${name} sends a create again that is ${state}, after ${failures} failures`
    ensure(state !== 'under way' && state !== 'done', 'client.repeats', message)
    ensure(failures <= client.maxRetries, 'client.repeats', message)
    if (state === 'rejected') return
    const hasKey = request.headers['idempotency-key'] !== undefined
    ensure(hasKey, 'client.repeats', () => `${message()} and without a key`)
    ensure(now() >= until - 1, 'client.repeats', () => `${message()}: ${earlyFor(until)}`)
  }

  function earlyFor(end: number): string {
    return `${name} sends ${Math.round(end - now())} ms too early`
  }

  function learn({ body }: WireRequest, state: Attempt['state'], wait: number): void {
    const attempt = body === undefined ? undefined : creates.get(body)
    // A rejection that is cut off is one nevertheless.
    const isKnown = state === 'lost' && attempt?.state === 'rejected'
    if (!attempt || isKnown) return
    if (attempt.state === 'under way' && /lost|failed/.test(state)) attempt.failures++
    Object.assign(attempt, { state, until: now() + wait })
  }
}

function keyOf({ headers }: WireRequest): string {
  return headers['authorization'] ?? ''
}

/** In ms, by Retry-After: seconds or a date (RFC 9110 §10.2.3). */
function waitOf({ headers }: WireResponse): number {
  const { 'retry-after': text = '0', date = '' } = headers
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.parse(date)
  return ms || 0
}

function stateOf({ status }: WireResponse): Attempt['state'] {
  if (status === 429) return 'rejected'
  return status >= 500 ? 'failed' : 'done'
}
