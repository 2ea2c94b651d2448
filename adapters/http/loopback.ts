import { ApiError } from '../../src/errors.js'
import type { ApiRequest } from '../../src/protocol/api.js'

/**
 * Refuses requests from other machines, those that came through a proxy, and those whose `Host` is
 * not loopback: a web page can reach this machine through a DNS name of its own, but not with such
 * a `Host`.
 *
 * @throws ApiError 403
 */
export function refuseStrangers(request: ApiRequest): void {
  const { client, headers, reported = !isForwarded(headers) } = request
  const isLocal = client === undefined || LOOPBACK_ADDRESS.test(client)
  if (isLocal && reported && isLoopbackHost(headers['host'])) return
  throw new ApiError('invalid_request', 'This address is served over loopback only.', {
    status: 403,
  })
}

/** Whether a `Host` names this machine, with or without a port. */
export function isLoopbackHost(host = ''): boolean {
  return LOOPBACK_HOST.test(host)
}

/** A proxy that is not trusted adds these, and `client` is its address. */
function isForwarded(headers: ApiRequest['headers']): boolean {
  return Object.keys(headers).some(name => FORWARDED.test(name))
}

const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip)$/i
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i
const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1)$/
