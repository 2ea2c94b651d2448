import { ApiError, invalidRequest } from '../../src/errors.js'

/**
 * What Node's parser gave up on, as the protocol tells it; undefined when there is nobody to tell.
 */
export function refusalOf({ code }: NodeJS.ErrnoException): ApiError | undefined {
  if (code === 'ECONNRESET' || code === 'EPIPE') return undefined
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ApiError('invalid_request', 'The header fields are too large.', { status: 431 })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError('invalid_request', 'The request did not arrive in time.', { status: 408 })
  }
  return invalidRequest('The request is not valid HTTP/1.1.')
}
