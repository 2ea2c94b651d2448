import { ApiError, ERROR_STATUS, type ErrorCode } from '../../src/errors.js'
import { parseJson } from '../../src/json.js'
import { lazy } from '../../src/lazy.js'
import type { Answer } from './attempt.js'
import { ApiKeyBannedError, RateLimitError } from './errors.js'

const model = lazy(() => import('../../src/model.js'))

/**
 * What an answer that is no success says. A code that we do not know, as from a newer server or
 * from something in between, becomes the one that goes with the status.
 *
 * @param wait how long to wait from `now`, as far as is known, in ms
 */
export async function errorOf(answer: Answer, now: number, wait: number): Promise<ApiError> {
  const { status, rateLimit } = answer
  const { errorBodySchema } = await model()
  const body = errorBodySchema.safeParse(await parseJson(answer.text).catch(() => undefined)).data
  const code = isKnown(body?.code) ? body.code : codeOf(status)
  const message = body?.message ?? `The server answered ${status} without saying why.`
  if (status !== 429) return new ApiError(code, message, { status, rateLimit })
  const Rejection = code === 'api_key_banned' ? ApiKeyBannedError : RateLimitError
  const retryAfter = Math.ceil(wait / 1000)
  return new Rejection(code, message, { rateLimit, retryAfter, retryAt: now + wait })
}

function isKnown(code: string | undefined): code is ErrorCode {
  return code !== undefined && Object.hasOwn(ERROR_STATUS, code)
}

function codeOf(status: number): ErrorCode {
  const known = Object.entries(ERROR_STATUS).find(([, one]) => one === status)
  if (known) return known[0] as ErrorCode
  return status >= 400 && status < 500 ? 'invalid_request' : 'internal_error'
}
