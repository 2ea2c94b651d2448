import { createHash } from 'node:crypto'

const KEPT = 400
/** Hashing line by line would take as long as all the rest. */
const PIECE = 16_384

/** The events in order. Its digest is the same wherever the same world runs. */
export function createTrace(now: () => number, begin: number) {
  const hash = createHash('sha256')
  let piece = ''
  let step: string[] = []
  let lines: string[] = []

  return {
    add,
    /** The event of that name is over, with everything that followed from it at once. */
    endStep(name: string): void {
      add(name)
      // Simultaneous events have another order on each version of Node.
      piece += `${step.sort().join('\n')}\n`
      step = []
      if (piece.length < PIECE) return
      hash.update(piece)
      piece = ''
    },
    digest: () =>
      hash
        .copy()
        .update(piece + step.sort().join())
        .digest('hex')
        .slice(0, 16),
    /** The last lines. */
    end: () => lines.slice(-KEPT),
  }

  function add(text: string): void {
    const line = `${((now() - begin) / 1000).toFixed(4)} ${text}`
    lines.push(line)
    if (lines.length > 2 * KEPT) lines = lines.slice(-KEPT)
    step.push(line)
  }
}
