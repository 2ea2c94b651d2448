import { toJson } from '../../../src/lib/json.js'
import { isToken } from '../../http/token.js'
import type { TestDoubleOptions } from '../double-options.js'
import type { EventLog, ObservableState } from '../events.js'
import type { Snapshot } from '../snapshot.js'
import { FORMAT, type RecordingFile, VERSION } from './file.js'
import { createKeyNames } from './names.js'
import { logSteps } from './steps.js'

/** A recording in progress. */
export interface Recording {
  /** Number of steps so far. */
  readonly steps: number
  /** The limit of 100,000 steps was exceeded. */
  readonly isFull: boolean
  /** The file so far: JSON with one step per line, without API keys. */
  json(): Promise<string>
  stop(): void
}

export interface Recorded {
  readonly events: EventLog
  readonly state: () => ObservableState
  readonly options: TestDoubleOptions
  readonly snapshot: () => Promise<Snapshot>
}

export async function startRecording(double: Recorded): Promise<Recording> {
  const { events, options } = double
  const state = double.state()
  if (events.open > 0) throw new Error('record needs a double at rest: a request is in flight')
  if (events.worlds > 0) throw new Error('record begins before the first world is created')
  const names = createKeyNames([options.control].filter(isToken))
  const keys = names.learn(state.apiKeys)
  const { now: at, frozen } = state.clock.dump()
  // Taken before the first await, together with the beginning of the steps.
  const snapshot = events.acts === 0 ? null : double.snapshot()
  const log = logSteps(events, state, names)
  const begin = { options: plain(options), keys, at, frozen, state: await snapshot }

  return {
    get steps() {
      return log.steps.length
    },
    get isFull() {
      return log.isFull
    },
    async json() {
      // Hides keys once more, as one may have been sent before it was added.
      const { steps, ...head } = names.hide<RecordingFile>({
        format: FORMAT,
        version: VERSION,
        begin,
        steps: log.steps,
      })
      const lines = steps.map(step => `\n${toJson(step)}`).join(',')
      return `${toJson(head).slice(0, -1)},"steps":[${lines}\n]}\n`
    },
    stop: log.stop,
  }
}

/** Omits the keys and the clock, which are recorded separately. */
function plain(options: TestDoubleOptions): RecordingFile['begin']['options'] {
  const { apiKeys: _, sha256: __, time: ___, control: ____, ...others } = options
  return others as Readonly<Record<string, unknown>>
}
