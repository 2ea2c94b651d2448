import { ApiError } from '../../src/errors.js'
import type { ApiRequest } from '../../src/protocol/api.js'

/**
 * Refuses requests from other machines, and those whose `Host` is not loopback: a web page can reach
 * this machine through a DNS name of its own, but not with such a `Host`.
 *
 * @throws ApiError 403
 */
export function refuseStrangers({ client, headers }: ApiRequest): void {
  const isLocal = client === undefined || LOOPBACK_ADDRESS.test(client)
  if (isLocal && LOOPBACK_HOST.test(headers['host'] ?? '')) return
  throw new ApiError('invalid_request', 'This address is served over loopback only.', {
    status: 403,
  })
}

const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i
/** An IPv6 address is given as its /64. */
const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|0:0:0:0::\/64)$/
