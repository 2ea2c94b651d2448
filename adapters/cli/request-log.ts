import { chain } from '../../src/lib/async.js'
import type { Clock } from '../../src/ports.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import type { Sha256 } from '../../src/protocol/api-keys.js'
import { entryOf } from '../exchanges/entry.js'
import { jsonLine, prettyLine } from '../exchanges/line.js'
import type { Keys } from '../exchanges/redact.js'

export interface RequestLogOptions {
  readonly format: 'pretty' | 'json' | 'silent'
  /** The time of the entries. */
  readonly clock: Clock
  /** The valid API keys, which are redacted: the same value as long as they are the same. */
  readonly keys: () => Keys
  /** For keys that are known by their digest. */
  readonly sha256?: Sha256 | undefined
  /** Colors `pretty` lines, for a terminal. */
  readonly colors: boolean
  readonly write: (line: string) => void
}

/** Writes a line for each answer: time, request, status, key id, budget and duration. */
export function withRequestLog(handler: ApiHandler, options: RequestLogOptions): ApiHandler {
  const { format, clock, keys, sha256, colors, write } = options
  if (format === 'silent') return handler
  const lineOf = format === 'json' ? jsonLine : prettyLine(colors)
  return {
    ...handler,
    handle(request) {
      const start = performance.now()
      return chain(handler.handle(request), response => log(request, response, start))
    },
  }

  function log(request: ApiRequest, response: ApiResponse, start: number): ApiResponse {
    const ms = performance.now() - start
    write(lineOf(entryOf({ request, keys: keys(), sha256, response, at: clock(), ms })))
    return response
  }
}
