import type { Second } from './activity.js'
import type { Listed } from './exchange-detail.js'
import type { WorldState } from './world.js'

/** One message of `/_console/events`. */
export interface Update {
  /** The latest requests since the message before, oldest first. */
  readonly entries: readonly Listed[]
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

export { OUTCOMES, type Second } from './activity.js'
export type { ExchangeDetail, Listed, Side } from './exchange-detail.js'
export type { Edit } from './replay.js'
export type { KeyState, WorldState } from './world.js'
