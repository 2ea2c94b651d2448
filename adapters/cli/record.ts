import { type HarSource, harOf } from '../exchanges/har.js'
import type { JudgedDouble } from '../test-double/double.js'
import type { Flags } from './flags.js'
import { writeOutput } from './output.js'

/** The files of a run, written at its end. */
export interface RunFiles {
  /** @throws UsageError when a file cannot be written */
  write(): Promise<void>
}

/** Records what the flags ask for. */
export async function recordTo({ har, record }: Flags, double: JudgedDouble): Promise<RunFiles> {
  const { tape } = double
  const recording = record === undefined ? undefined : await double.record()
  const exchanges: HarSource[] = []
  // At once: a key may be revoked, or a world deleted, before the run ends.
  if (har !== undefined) {
    tape.listeners.add(({ act }) => {
      if (act.do === 'answer') exchanges.push(act.source())
    })
  }

  return {
    async write() {
      if (har !== undefined) {
        await writeOutput('--har', har, `${JSON.stringify(harOf(exchanges), null, 2)}\n`)
      }
      if (record === undefined || !recording) return
      await writeOutput('--record', record, await recording.json())
      if (recording.isFull) process.stderr.write(`Recording: ${record} ends after 100,000 steps.\n`)
    },
  }
}
