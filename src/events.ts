import type { RateLimit } from './errors.js'
import type { Pet } from './model.js'

/** What a store tells its host. No event carries an API key, only its id. */
export type StoreEvents = {
  'pet.created': { readonly pet: Pet }
  /** A 429 of code `rate_limit_exceeded`. `partition` is a key id, or `addr:` and an address. */
  'limit.exceeded': { readonly partition: string; readonly rateLimit: RateLimit }
  /** A ban begins; `bannedUntil` in ms since the epoch. */
  'key.banned': { readonly keyId: string; readonly bannedUntil: number }
  /** The rate limit store failed; this process counts by itself until it answers again. */
  'ratelimit.degraded': { readonly error: unknown }
}

export interface StoreEmitter {
  on<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  /** Every event, after those who asked for its name. */
  on(name: '*', listener: EveryListener): void
  off<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  off(name: '*', listener: EveryListener): void
}

type Listener<Event> = (event: Event) => void
type EveryListener = <Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]) => void

export type Emit = <Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]) => void

/**
 * An emitter whose listeners cannot hurt: one that throws changes no response and starves no other
 * listener. What happens while listeners are called is told after that, so that all hear of it in
 * the order it happened.
 */
export function createEvents(): { readonly events: StoreEmitter; readonly emit: Emit } {
  // Arrays that are replaced, not changed: a listener may take itself off while it is called.
  const listeners = new Map<string, readonly ((...told: unknown[]) => unknown)[]>()
  let untold: [name: string, event: unknown][] = []
  const of = (name: string) => listeners.get(name) ?? []

  return {
    events: {
      on(name: string, listener: (...told: never[]) => void) {
        listeners.set(name, [...of(name), listener as never])
      },
      off(name: string, listener: (...told: never[]) => void) {
        const known = of(name)
        const at = known.indexOf(listener as never)
        if (at >= 0) listeners.set(name, known.toSpliced(at, 1))
      },
    },
    emit(name, event) {
      if (listeners.size === 0 || untold.push([name, event]) > 1) return
      for (const [name, event] of untold) {
        for (const listener of of(name)) guard(() => listener(event))
        for (const listener of of('*')) guard(() => listener(name, event))
      }
      untold = []
    },
  }
}

/** The answer is already decided: what becomes of a listener, now or later, is its own matter. */
function guard(call: () => unknown): void {
  try {
    const result = call()
    if (result instanceof Promise) result.catch(() => {})
  } catch {}
}
