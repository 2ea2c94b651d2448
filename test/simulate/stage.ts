import type { ApiModel } from './model/api.js'
import type { PlannedEvent, Setting } from './scenario.js'
import type { Scheduler } from './scheduler.js'

export interface Stage {
  readonly seed: string
  readonly setting: Setting
  readonly scheduler: Scheduler
  readonly model: ApiModel
  /** The clock of the machine, which steps. */
  readonly clock: () => number
  readonly note: (what: string) => void
  readonly trace: (line: string) => void
  readonly fail: (error: unknown) => void
}

/** The effect of each kind of event. */
export type Happenings = {
  readonly [Kind in PlannedEvent['kind']]: (
    event: Extract<PlannedEvent, { kind: Kind }>,
  ) => void | Promise<void>
}
