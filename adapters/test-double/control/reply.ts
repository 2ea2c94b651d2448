import type { ApiResponse } from '../../../src/api.js'
import type { ApiError } from '../../../src/errors.js'
import { toJson } from '../../../src/json.js'

/** What a command answers: a value as JSON, a text, or nothing. */
export interface Reply {
  readonly status: number
  readonly value?: unknown
  readonly text?: string
}

/** No CORS header, so that no page of another origin can read it. */
export function respond(
  { status, value, text }: Reply,
  headers: Record<string, string> = {},
): ApiResponse {
  const body = text ?? (value === undefined ? '' : toJson(value))
  return {
    status,
    headers: {
      ...(status !== 204 && {
        'Content-Type': text === undefined ? 'application/json' : 'text/plain; charset=utf-8',
        'Content-Length': String(Buffer.byteLength(body)),
      }),
      'Cache-Control': 'no-store',
      ...headers,
    },
    body,
    about: {},
  }
}

export function failure({ code, message, status, headers }: ApiError): ApiResponse {
  return respond({ status, value: { code, message, status } }, headers)
}
