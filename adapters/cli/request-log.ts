import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/api.js'
import { chain } from '../../src/awaitable.js'
import type { Clock } from '../../src/ports.js'

export const LOG_FORMATS = ['pretty', 'json', 'silent'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/**
 * A line for each answer: method, path, status, plan and how long it took. No query, no header, no
 * key.
 */
export function withRequestLog(
  handler: ApiHandler,
  format: LogFormat,
  clock: Clock,
  write: (line: string) => void,
): ApiHandler {
  if (format === 'silent') return handler
  return {
    ...handler,
    handle(request) {
      const start = performance.now()
      return chain(handler.handle(request), response => log(request, response, start))
    },
  }

  function log(request: ApiRequest, response: ApiResponse, start: number): ApiResponse {
    const ms = Math.round((performance.now() - start) * 100) / 100
    const { method, path } = request
    const { status, about } = response
    const plan = about?.key?.plan ?? null
    write(
      format === 'json'
        ? JSON.stringify({
            time: new Date(clock()).toISOString(),
            method,
            path,
            status,
            plan,
            ms,
          })
        : `${method || '-'} ${path || '-'} ${status} ${plan ?? '-'} ${ms} ms`,
    )
    return response
  }
}
