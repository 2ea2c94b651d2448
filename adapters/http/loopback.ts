import type { ApiHandler } from '../../src/protocol/api-request.js'
import { toAnswer } from './extra-pages.js'

/** Refuses foreign `Host`s: a web page can point its own DNS name at this machine. */
export function overLoopback(handler: ApiHandler): ApiHandler {
  return {
    ...handler,
    handle(request) {
      const { refusal, headers } = request
      // A malformed request may have no headers, and reaches nothing.
      if (refusal || LOOPBACK_HOST.test(headers['host'] ?? '')) return handler.handle(request)
      return toAnswer(request.method, { status: 403, text: JSON.stringify(STRANGER) })
    },
  }
}

const STRANGER = {
  code: 'invalid_request',
  message: 'This address is served over loopback only.',
  status: 403,
}

const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i
