import { createHash } from 'node:crypto'

/** What happened, in order. Its digest is the same wherever the same world runs. */
export interface Trace {
  add(line: string): void
  digest(): string
  /** The last lines. */
  end(): readonly string[]
}

const KEPT = 400
/** Hashing line by line would take as long as all the rest. */
const PIECE = 16_384

export function createTrace(now: () => number, begin: number): Trace {
  const hash = createHash('sha256')
  let piece = ''
  let lines: string[] = []

  return {
    add(text) {
      const line = `${((now() - begin) / 1000).toFixed(4)} ${text}`
      lines.push(line)
      if (lines.length > 2 * KEPT) lines = lines.slice(-KEPT)
      piece += `${line}\n`
      if (piece.length < PIECE) return
      hash.update(piece)
      piece = ''
    },
    digest: () => hash.copy().update(piece).digest('hex').slice(0, 16),
    end: () => lines.slice(-KEPT),
  }
}
