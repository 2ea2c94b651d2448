import mitt from 'mitt'
import type { RateLimit } from './errors.js'
import { orElse } from './lib/async.js'
import type { Pet } from './pets/schema.js'
import type { Operation } from './pets/specification.js'

/** What a store announces to its host. No event carries an API key, only its id. */
export type StoreEvents = {
  'pet.created': { readonly pet: Pet }
  /** A 429 of code `rate_limit_exceeded`, or what would be one but for shadow mode. `partition` is a key id, or `addr:` and an address. */
  'limit.exceeded': { readonly partition: string; readonly rateLimit: RateLimit }
  /** A ban begins; `bannedUntil` in ms since the epoch. */
  'key.banned': { readonly keyId: string; readonly bannedUntil: number }
  /** The storage failed, and the operation was answered with 503. */
  'storage.failed': { readonly operation: Operation; readonly error: unknown }
  /** The rate limit store failed; this process counts by itself until it answers again. */
  'ratelimit.degraded': { readonly error: unknown }
  /** The first decision of the rate limit store since it failed. */
  'ratelimit.recovered': object
}

export interface StoreEmitter {
  on<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  /** `'*'` listeners receive every event, after the listeners of its name. */
  on(name: '*', listener: Emit): void
  off<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  off(name: '*', listener: Emit): void
}

// Its types describe a CommonJS module, its code is an ES module.
const createEmitter = mitt as unknown as typeof mitt.default

type Listener<Event> = (event: Event) => void

/** Emits an event. A `'*'` listener has the same shape. */
export type Emit = <Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]) => void

/**
 * mitt keeps the listeners; this `emit` isolates them. A listener that throws changes no response
 * and starves no other listener, and an event that a listener causes waits until the current one
 * has reached everyone, so that all listeners see the same order.
 */
export function createEvents(): { readonly events: StoreEmitter; readonly emit: Emit } {
  const { all, on, off } = createEmitter<StoreEvents>()
  const pending: { readonly name: keyof StoreEvents; readonly event: unknown }[] = []

  return {
    events: { on, off },
    emit(name, event) {
      if (all.size === 0 || pending.push({ name, event }) > 1) return
      for (const { name, event } of pending) {
        for (const listener of listenersOf(name)) orElse(() => listener(event), ignore)
        for (const listener of listenersOf('*')) orElse(() => listener(name, event), ignore)
      }
      pending.length = 0
    },
  }

  /** A copy: a listener may remove itself or others while it is called. */
  function listenersOf(name: keyof StoreEvents | '*'): readonly ((...event: unknown[]) => void)[] {
    return (all.get(name) ?? []).slice() as never
  }
}

/** The response is already decided: a listener's failure, now or later, is its own. */
function ignore(): void {}
