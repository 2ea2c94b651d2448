import type { Info } from '../messages.js'
import type { Go, Place } from './fragment.js'
import type { Live } from './stream.js'

/** What every panel gets. */
export interface PanelProps {
  readonly live: Live
  /** The store's time, in ms; undefined before the first message. */
  readonly now: number | undefined
  /** Empty for the store itself, outside worlds. */
  readonly world: string
  readonly info: Info
  readonly place: Place
  readonly go: Go
}
