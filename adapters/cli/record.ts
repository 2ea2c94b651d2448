import { type HarSource, harOf } from '../exchanges/har.js'
import type { JudgedDouble } from '../test-double/double.js'
import type { ExecSettings } from './options.js'
import type { Output } from './output.js'

/** The files of a run, written at its end. */
export interface RunFiles {
  readonly outputs: readonly Output[]
  /** Whether more happened than a recording keeps. */
  isCut(): boolean
}

/** Records what `--har` and `--record` ask for. */
export async function recordTo(
  { har, record }: ExecSettings,
  double: JudgedDouble,
): Promise<RunFiles> {
  const { events } = double
  const recording = record === undefined ? undefined : await double.record()
  const exchanges: HarSource[] = []
  // At once: a key may be revoked, or a world deleted, before the run ends.
  if (har !== undefined) {
    events.listeners.add(({ act }) => {
      if (act.do === 'answer') exchanges.push(act.source())
    })
  }

  return {
    outputs: [
      {
        flag: '--har',
        path: har,
        text: () => `${JSON.stringify(harOf(exchanges), null, 2)}\n`,
      },
      { flag: '--record', path: record, text: () => recording?.json() ?? '' },
    ],
    isCut: () => recording?.isFull ?? false,
  }
}
