import type { ApiHandler } from '../../src/protocol/api-request.js'
import { toAnswer } from './extra-pages.js'

/**
 * Refuses requests whose `Host` is not loopback: a web page can point its own DNS name at this
 * machine, but not send such a `Host`.
 */
export function overLoopback(handler: ApiHandler): ApiHandler {
  return {
    ...handler,
    handle(request) {
      if (isLoopbackHost(request.headers['host'])) return handler.handle(request)
      return toAnswer(request.method, { status: 403, text: JSON.stringify(STRANGER) })
    },
  }
}

const STRANGER = {
  code: 'invalid_request',
  message: 'This address is served over loopback only.',
  status: 403,
}

/** True for a loopback `Host`, with or without a port. */
export function isLoopbackHost(host = ''): boolean {
  return LOOPBACK_HOST.test(host)
}

const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i
