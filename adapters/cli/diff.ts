import { differenceOfRecordings } from '../test-double/recording/diff.js'
import type { RecordingFile } from '../test-double/recording/file.js'
import { type Flag, type FlagTable, parseOptions, UsageError } from './flags.js'
import { helpRows } from './help.js'
import { readRecordingFile } from './recording-file.js'
import { describe, fail } from './replay.js'

const FLAGS = {
  help: { short: 'h', help: 'print this help' },
} as const satisfies Record<string, Flag>

const TABLE: FlagTable = new Map(Object.entries(FLAGS))

/**
 * `diff <good.json> <bad.json>`: names the first step that differs.
 *
 * @returns the exit code: 0 when there is none, 1 otherwise, also without any step
 * @throws UsageError
 */
export async function diffCommand(words: readonly string[]): Promise<number> {
  const operands: string[] = []
  const flags = parseOptions(words, TABLE, word => operands.push(word))
  if (flags['help']) return print(helpText(), 0)
  const [good, bad, ...others] = operands
  if (!good || !bad || others.length > 0) {
    throw new UsageError('diff takes two files of exec --record: diff <good.json> <bad.json>')
  }
  const [one, other] = [await readRecordingFile(good), await readRecordingFile(bad)]
  const difference = differenceOfRecordings(one, other)
  if (!difference) return equal(one.steps.length)
  const { step, what } = difference
  if (step === 0)
    return print(
      `${what}.\n`.replace(/^./, first => first.toUpperCase()),
      1,
    )
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

function helpText(): string {
  return `Usage: animal-adoption-store diff <good.json> <bad.json>

Names the first step in which two recordings of exec --record differ.
Exit codes: 0 there is none, 1 there is one or there are no steps, 2 a file cannot be read.

${helpRows(TABLE)}
`
}
