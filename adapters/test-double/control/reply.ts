import type { ApiResponse } from '../../../src/api.js'
import type { ApiError } from '../../../src/errors.js'
import { toJson } from '../../../src/json.js'
import { toAnswer } from '../../pages.js'

/** What a command answers: a value as JSON, a text, or nothing. */
export interface Reply {
  readonly status: number
  readonly value?: unknown
  readonly text?: string
}

/** No CORS header, so that no page of another origin can read it. */
export function respond(method: string, { status, value, text }: Reply): ApiResponse {
  if (text !== undefined)
    return toAnswer(method, { status, type: 'text/plain; charset=utf-8', text })
  return toAnswer(method, { status, text: value === undefined ? '' : toJson(value) })
}

export function failure(method: string, { code, message, status, headers }: ApiError): ApiResponse {
  return toAnswer(method, { status, text: toJson({ code, message, status }), headers })
}
