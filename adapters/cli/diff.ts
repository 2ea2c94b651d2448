import { differenceOfRecordings } from '../test-double/recording/diff.js'
import type { RecordingFile } from '../test-double/recording/file.js'
import { describe, fail, readRecordingFile } from './replay.js'

/**
 * `diff <good.json> <bad.json>`: names the first step that differs.
 *
 * @returns the exit code: 0 when there is none, 1 otherwise, also without any step
 * @throws UsageError
 */
export async function diffCommand(good: string, bad: string): Promise<number> {
  const [one, other] = [await readRecordingFile(good), await readRecordingFile(bad)]
  const difference = differenceOfRecordings(one, other)
  if (!difference) return equal(one.steps.length)
  const { step, what } = difference
  if (step === 0) return print(`${what.charAt(0).toUpperCase()}${what.slice(1)}.\n`, 1)
  return print(`Step ${step} differs${placeOf(step, one, other)}: ${what}.\n`, 1)
}

function equal(steps: number): number {
  if (steps > 0) return print(`No step differs: ${steps} in both recordings.\n`, 0)
  return fail('nothing was compared: neither recording has a step')
}

function placeOf(step: number, ...files: readonly RecordingFile[]): string {
  const [found] = files.flatMap(({ steps }) => steps[step - 1] ?? [])
  return found ? `, ${describe(found)}` : ''
}

function print(text: string, code: number): number {
  process.stdout.write(text)
  return code
}
