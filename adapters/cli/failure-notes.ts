import type { StoreEmitter } from '../../src/events.js'
import type { Notes } from './notes.js'

/** Says what fails behind the API: a client sees a 503, or nothing at all. */
export function noteFailures(events: StoreEmitter, notes: Notes): void {
  events.on('storage.failed', ({ operation, error }) =>
    notes.repeat('storage.failed', `store: ${operation} failed: ${messageOf(error)}`),
  )
  events.on('ratelimit.degraded', ({ error }) =>
    notes.repeat('ratelimit.degraded', `limits: ${messageOf(error)}`),
  )
}

/** Says at the start that the store of the limits cannot be reached. */
export function noteUnreachable(error: unknown, notes: Notes): void {
  const text = `limits: ${messageOf(error)}; this process counts by itself until the server answers`
  notes.say('ratelimit.degraded', text)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
