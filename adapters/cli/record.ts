import { writeFile } from 'node:fs/promises'
import { type HarSource, harOf } from '../exchanges/har.js'
import type { Tape } from '../test-double/double.js'
import { type Flags, UsageError } from './flags.js'

/** The files of a run, written at its end. */
export interface RunFiles {
  /** @throws UsageError when a file cannot be written */
  write(): Promise<void>
}

/** Records what the flags ask for. */
export function recordTo({ har }: Flags, tape: Tape): RunFiles {
  const exchanges: HarSource[] = []
  // At once: a key may be revoked, or a world deleted, before the run ends.
  if (har !== undefined) tape.add(source => exchanges.push(source()))

  return {
    async write() {
      if (har === undefined) return
      await writeOutput('--har', har, `${JSON.stringify(harOf(exchanges), null, 2)}\n`)
    },
  }
}

/** @throws UsageError naming the flag */
export async function writeOutput(flag: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${flag} cannot write ${path}: ${code}`, flag)
  }
}
