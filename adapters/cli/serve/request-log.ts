import { chain } from '../../../src/lib/async.js'
import { printable } from '../../../src/lib/printable.js'
import { MINUTE } from '../../../src/limits/windows-and-bans.js'
import type { Clock } from '../../../src/ports.js'
import type { Sha256 } from '../../../src/protocol/api-keys.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { entryOf } from '../../verdict/log/log-entry.js'
import type { Keys } from '../../verdict/log/redact.js'
import { jsonRecord } from '../print.js'
import { jsonLine, prettyLine } from './log-line.js'

export interface RequestLogOptions {
  readonly format: 'pretty' | 'json' | 'silent'
  readonly clock: Clock
  readonly keys: () => Keys
  /** Needed for keys that are known by digest. */
  readonly sha256?: Sha256 | undefined
  readonly colors: boolean
  readonly write: (line: string) => void
}

export function withRequestLog(handler: ApiHandler, options: RequestLogOptions): ApiHandler {
  const { format, clock, keys, sha256, colors, write } = options
  if (format === 'silent') return handler
  const lineOf = format === 'json' ? jsonLine : prettyLine(colors)
  return {
    ...handler,
    handle(request) {
      const start = performance.now()
      return chain(handler.handle(request), response => {
        const durationMs = performance.now() - start
        const entry = entryOf({ request, keys: keys(), sha256, response, at: clock(), durationMs })
        const isOutside = response.outside === true && response.status === 404
        const reason = isOutside ? `outside ${handler.basePath}` : undefined
        write(lineOf({ ...entry, reason }))
        return response
      })
    },
  }
}

/** Messages of the server on stderr, besides requests. */
export type Notes = ReturnType<typeof createNotes>

export interface NotesOptions {
  readonly asJson: boolean
  readonly clock: Clock
  readonly write: (line: string) => void
}

export function createNotes({ asJson, clock, write }: NotesOptions) {
  const lastSaid = new Map<string, number>()
  const listeners: ((event: string) => void)[] = []
  return {
    say,
    /** Writes each event at most once a minute, since every request may cause it. */
    repeat(event: string, message: string): void {
      const now = clock()
      if (now - (lastSaid.get(event) ?? Number.NEGATIVE_INFINITY) < MINUTE) return
      lastSaid.set(event, now)
      say(event, message)
    },
    record,
    /** Calls back for each event, written or not. */
    listen: (listener: (event: string) => void) => void listeners.push(listener),
  }

  /** Writes a line for people, or a record with `--log json`. */
  function say(event: string, message: string, fields = {}): void {
    const [line = ''] = message.split('\n', 1)
    record(event, { message: line, ...fields })
    if (!asJson) write(`animal-adoption-store: ${printable(line)}`)
  }

  /** Writes only with `--log json`; otherwise the banner says it. */
  function record(event: string, fields: object): void {
    for (const listener of listeners) listener(event)
    if (asJson) write(jsonRecord(event, fields, clock()))
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
