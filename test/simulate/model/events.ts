import type { Emit } from '../../../src/events.js'
import type { Pet } from '../../../src/index.js'
import { ensure } from '../violation.js'
import { jsonOf, seen } from './pets.js'

/** Announcements of stores to their hosts, until a response confirms them. */
export function createEventModel() {
  const announced: string[] = []
  const announce: Emit = (name, given) => {
    const { error: _, pet, ...event } = given as AnyEvent
    announced.push(`${name} ${pet ? jsonOf(seen(pet)) : JSON.stringify(event)}`)
  }

  return {
    announce,
    ensureAnnounced(name: string, event: object | string): void {
      const text = `${name} ${typeof event === 'string' ? event : JSON.stringify(event)}`
      const at = announced.lastIndexOf(text)
      ensure(at >= 0, 'events.true', () => `${text} was not announced`)
      announced.splice(at, 1)
    },
  }
}

interface AnyEvent {
  readonly error?: unknown
  readonly pet?: Pet
}
