import { printable } from '../../../src/lib/printable.js'
import { describe, differencesOf } from '../../test-double/recording/diff.js'
import type { RecordingFile } from '../../test-double/recording/file.js'
import { createDoubleFor, takeSteps } from '../../test-double/recording/replay-steps.js'
import type { Call } from '../commands.js'
import { print } from '../print.js'
import { fail, readRecordingFile } from './replay.js'

/** @returns the exit code: 0 if there are steps and none differs, otherwise 1 */
export async function main(_: unknown, { operands: [good = '', bad = ''] }: Call): Promise<number> {
  const files = [await readRecordingFile(good), await readRecordingFile(bad)] as const
  const [first, next] = differencesOf(...files)
  if (!first) return equal(files[0].steps.length)
  const { step, what } = first
  if (step === 0) return differ([`${what.charAt(0).toUpperCase()}${what.slice(1)}.`])
  const lines = [`Step ${step} differs${placeOf(step, ...files)}: ${what}.`]
  if (next) {
    const place = placeOf(next.step, files[1])
    lines.push(
      `Without a fault, step ${next.step} is the first that differs${place}: ${next.what}.`,
    )
  }
  const [one, other] = [await animalsOf(files[0]), await animalsOf(files[1])]
  if (one !== other) {
    const animals = other === '' ? 'no animals' : `animals ${other}`
    lines.push(`At the end: ${animals} instead of ${one || 'none'}.`)
  }
  return differ(lines)
}

function equal(steps: number): number {
  if (steps === 0) return fail('nothing was compared: neither recording has a step')
  print(`No step differs: ${steps} in both recordings.\n`)
  return 0
}

function placeOf(step: number, ...files: readonly RecordingFile[]): string {
  const [found] = files.flatMap(({ steps }) => steps[step - 1] ?? [])
  return found ? `, ${describe(found)}` : ''
}

async function animalsOf(file: RecordingFile): Promise<string> {
  const controlled = createDoubleFor(file)
  await takeSteps(controlled, file)
  const animals = await controlled.double.inspect.animals({ limit: Number.MAX_SAFE_INTEGER })
  await controlled.double.close()
  return animals.map(({ id }) => id).join(', ')
}

function differ(lines: readonly string[]): number {
  print(`${lines.map(printable).join('\n')}\n`)
  return 1
}
