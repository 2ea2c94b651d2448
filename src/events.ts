import mitt from 'mitt'
import type { RateLimit } from './api-error.js'
import { createNotifier, type OnListenerError } from './lib/listeners.js'
import type { Pet } from './pets/schema.js'
import type { Operation } from './pets/specification.js'

/** Events that a store emits to its host. They carry the ids of API keys, never the keys. */
export type StoreEvents = {
  'pet.created': { readonly pet: Pet }
  /** Also in shadow mode. `partition` is a key id, or `addr:` and an address. */
  'limit.exceeded': { readonly partition: string; readonly rateLimit: RateLimit }
  /** Starts a ban; `bannedUntil` is in ms since the epoch. */
  'key.banned': { readonly keyId: string; readonly bannedUntil: number }
  'storage.failed': { readonly operation: Operation; readonly error: unknown }
  /** The rate limit store failed; until it answers again, this process counts on its own. */
  'ratelimit.degraded': { readonly error: unknown }
  'ratelimit.recovered': object
}

export interface StoreEmitter {
  on<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  /** `'*'` listeners receive every event, after the listeners of its name. */
  on(name: '*', listener: Emit): void
  off<Name extends keyof StoreEvents>(name: Name, listener: Listener<StoreEvents[Name]>): void
  off(name: '*', listener: Emit): void
}

// mitt's types describe CommonJS, its code is an ES module.
const createEmitter = mitt as unknown as typeof mitt.default

type Listener<Event> = (event: Event) => void

export type Emit = <Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]) => void

/** A listener that fails starves no other; events that listeners emit wait, so all see one order. */
export function createEvents(onListenerError?: OnListenerError): {
  readonly events: StoreEmitter
  readonly emit: Emit
} {
  const { all, on, off } = createEmitter<StoreEvents>()
  const notify = createNotifier(onListenerError)
  const pending: { readonly name: keyof StoreEvents; readonly event: unknown }[] = []

  return {
    events: { on, off },
    emit(name, event) {
      if (all.size === 0 || pending.push({ name, event }) > 1) return
      for (const { name, event } of pending) {
        for (const listener of listenersOf(name)) notify(name, listener, event)
        for (const listener of listenersOf('*')) notify('*', listener, name, event)
      }
      pending.length = 0
    },
  }

  /** Copies the list: a listener may remove itself or others while it runs. */
  function listenersOf(name: keyof StoreEvents | '*'): readonly ((...event: unknown[]) => void)[] {
    return (all.get(name) ?? []).slice() as never
  }
}
