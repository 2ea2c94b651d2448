import { ApiError, ERROR_STATUS, type ErrorCode, type RateLimit } from '../../src/api-error.js'
import { parseJson } from '../../src/lib/json.js'
import { ApiKeyBannedError, RateLimitError } from './errors.js'

type ErrorResponse = ReturnType<typeof readErrorResponse>

/** Maps unknown codes, from a newer server or a proxy, to the code of the status. */
export function readErrorResponse(status: number, text: string) {
  const { code, message = foreignMessage(status, text) } = errorBody(text)
  const isNamed = code !== undefined && Object.hasOwn(ERROR_STATUS, code)
  return { status, code: isNamed ? (code as ErrorCode) : codeOf(status), message, isNamed }
}

function errorBody(text: string): { readonly code?: string; readonly message?: string } {
  try {
    const { code, message, status } = (parseJson(text) ?? {}) as Readonly<Record<string, unknown>>
    const isError = typeof code === 'string' && typeof message === 'string'
    return isError && Number.isInteger(status) ? { code, message } : {}
  } catch {
    return {}
  }
}

/** @param retryAt by the local clock; with a 429 only */
export function toError(
  { code, message, status }: ErrorResponse,
  rateLimit: RateLimit | undefined,
  now: number,
  retryAt: number,
): ApiError {
  if (status !== 429) return new ApiError(code, message, { status, rateLimit })
  const Rejected = code === 'api_key_banned' ? ApiKeyBannedError : RateLimitError
  const retryAfter = Math.max(0, Math.ceil((retryAt - now) / 1000))
  return new Rejected(code, message, { rateLimit, retryAfter, retryAt })
}

function codeOf(status: number): ErrorCode {
  const known = Object.entries(ERROR_STATUS).find(([, one]) => one === status)
  if (known) return known[0] as ErrorCode
  return status >= 400 && status < 500 ? 'invalid_request' : 'internal_error'
}

/** Quotes the beginning of a proxy's page. */
function foreignMessage(status: number, text: string): string {
  const words = text
    .slice(0, 10_000)
    .replace(/<(style|script)\b.*?(?:<\/\1>|$)|<[^<>]*>/gis, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (words === '') return `The server answered ${status} without an Error body.`
  const excerpt = words.length > 120 ? `${words.slice(0, 120)}…` : words
  return `The server answered ${status} without an Error body: "${excerpt}"`
}
