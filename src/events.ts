import mitt, { type Emitter, type Handler, type WildcardHandler } from 'mitt'
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

export type StoreEmitter = Pick<Emitter<StoreEvents>, 'on' | 'off'>

export type Emit = <Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]) => void

/**
 * An emitter whose listeners cannot hurt: one that throws changes no response and starves no other
 * listener.
 */
export function createEvents(): { readonly events: StoreEmitter; readonly emit: Emit } {
  const { all, on, off } = mitt<StoreEvents>()
  return {
    events: { on, off },
    emit(name, event) {
      for (const listener of [...(all.get(name) ?? [])] as Handler<never>[]) {
        guard(() => listener(event as never))
      }
      for (const listener of [...(all.get('*') ?? [])] as WildcardHandler<StoreEvents>[]) {
        guard(() => listener(name, event))
      }
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
