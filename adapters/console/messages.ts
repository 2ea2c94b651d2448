import type { Entry } from '../exchanges/entry.js'
import type { Second } from './activity.js'
import type { WorldState } from './world.js'

/** One message of `/_console/events`. */
export interface Update {
  /** The latest requests since the message before, oldest first. */
  readonly entries: readonly (Entry & { readonly n: number })[]
  /** How many more there were. */
  readonly omitted: number
  readonly traffic: readonly Second[]
  /** Real time, in ms. */
  readonly serverTime: number
  readonly state: WorldState
}

/** The answer of `/_console/info`. */
export interface Info {
  readonly basePath: string
  /** Which panels have a source. */
  readonly panels: {
    readonly animals: boolean
    readonly budgets: boolean
    readonly control: boolean
  }
  readonly worlds: readonly string[]
}

export type { Entry } from '../exchanges/entry.js'
export { OUTCOMES, type Second } from './activity.js'
export type { ExchangeDetail } from './exchange-detail.js'
export type { KeyState, WorldState } from './world.js'
