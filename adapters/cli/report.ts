import { MINUTE } from '../../src/limits/decide.js'
import type { Clock } from '../../src/ports.js'

/** Writes each distinct line at most once a minute, since every request may cause it. */
export function createReport(clock: Clock, write: (line: string) => void): (line: string) => void {
  const lastWritten = new Map<string, number>()

  return line => {
    const now = clock()
    if (now - (lastWritten.get(line) ?? Number.NEGATIVE_INFINITY) < MINUTE) return
    lastWritten.set(line, now)
    write(`animal-adoption-store: ${line}`)
  }
}
