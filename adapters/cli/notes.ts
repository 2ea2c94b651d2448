import { printable } from '../../src/lib/printable.js'
import { MINUTE } from '../../src/limits/decide.js'
import type { Clock } from '../../src/ports.js'

/** What the server says on stderr besides requests. */
export interface Notes {
  /** A line for people, or with `--log json` a record. */
  say(event: string, message: string, fields?: object): void
  /** The same, but each message at most once a minute, since every request may cause it. */
  repeat(event: string, message: string): void
  /** Only with `--log json`, where the banner does not say it. */
  record(event: string, fields: object): void
}

export interface NotesOptions {
  readonly asJson: boolean
  readonly clock: Clock
  /** Writes one line to stderr. */
  readonly write: (line: string) => void
}

/** Messages that differ, such as by a number, must not pile up. */
const REMEMBERED = 100

export function createNotes({ asJson, clock, write }: NotesOptions): Notes {
  const lastSaid = new Map<string, number>()
  return {
    say,
    repeat(event, message) {
      const now = clock()
      if (now - (lastSaid.get(message) ?? Number.NEGATIVE_INFINITY) < MINUTE) return
      if (lastSaid.size >= REMEMBERED) lastSaid.clear()
      lastSaid.set(message, now)
      say(event, message)
    },
    record(event, fields) {
      if (asJson) writeRecord(event, fields)
    },
  }

  function say(event: string, message: string, fields: object = {}): void {
    const [line = ''] = message.split('\n', 1)
    if (asJson) writeRecord(event, { message: line, ...fields })
    else write(`animal-adoption-store: ${printable(line)}`)
  }

  function writeRecord(event: string, fields: object): void {
    write(JSON.stringify({ time: new Date(clock()).toISOString(), event, ...fields }))
  }
}
