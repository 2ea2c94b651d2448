import type { TestDouble } from '../double.js'
import type { Step } from './format.js'
import type { Difference, ReplayOptions } from './replay.js'

/** A recording that was read. */
export interface OpenRecording {
  readonly steps: readonly Step[]
  /**
   * Takes its steps on a double of its own, whose clock stands still at the time of the last one.
   *
   * @throws OptionError for options of the recording that no double accepts
   */
  replay(options?: Pick<ReplayOptions, 'until'>): Promise<ReplayedRecording>
}

export interface ReplayedRecording {
  readonly double: TestDouble
  /** The first step that came out otherwise, before which it stopped; undefined when all are equal. */
  readonly difference: Difference | undefined
}

/**
 * Reads what `Recording.json` returned.
 *
 * @throws RecordingError, in one line, for anything else
 */
export async function openRecording(text: string): Promise<OpenRecording> {
  const { readRecording } = await import('./read.js')
  const file = await readRecording(text, 'The recording')
  return {
    steps: file.steps,
    async replay(options) {
      const { createDoubleFor, takeSteps } = await import('./replay.js')
      const controlled = createDoubleFor(file)
      const difference = await takeSteps(controlled, file, options)
      return { double: controlled.double, difference }
    },
  }
}
