import type { ApiResponse } from '../../../../src/protocol/api-request.js'
import { toAnswer } from '../../../http/extra-pages.js'

export interface UpstreamFailure {
  readonly status: 502 | 504
  readonly code: 'bad_gateway' | 'gateway_timeout'
  readonly reason: string
  /** Its TLS was refused, so no request can ever succeed. */
  readonly isUntrusted?: boolean
}

export function timedOut(timeoutMs: number): UpstreamFailure {
  const reason = `nothing came for ${timeoutMs / 1_000} s`
  return { status: 504, code: 'gateway_timeout', reason }
}

export function failureOf({ code = '', message }: NodeJS.ErrnoException): UpstreamFailure {
  const [, words] = WORDS.find(([pattern]) => pattern.test(code)) ?? []
  const [line = ''] = message.split('\n')
  const reason = words === undefined ? code || line : `${words} (${code})`
  return { status: 502, code: 'bad_gateway', reason, isUntrusted: words === UNTRUSTED }
}

const UNTRUSTED =
  'the TLS certificate or connection is not accepted; trust an authority of your own with NODE_EXTRA_CA_CERTS'

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^ECONNRESET$|^EPIPE$/, 'the connection was closed'],
  [/^ENOTFOUND$|^EAI_/, 'the host name is unknown'],
  [/^E(HOST|NET)UNREACH$/, 'the host cannot be reached'],
  [/^ETIMEDOUT$/, 'the connection timed out'],
  [/CERT|^UNABLE_TO|SIGNED|^ERR_TLS|^ERR_SSL|^EPROTO$/, UNTRUSTED],
  [/OVERFLOW/, 'more header fields than a client reads'],
  [/^HPE_/, 'a response that is not valid HTTP'],
]

/** A response in place of the service's, with an Error body (spec §7). */
export function errorAnswer(
  method: string,
  { status, code, message }: { status: number; code: string; message: string },
): ApiResponse {
  const text = JSON.stringify({ code, message, status })
  // RFC 9209: the response comes from the proxy.
  return toAnswer(method, { status, text, headers: { 'Proxy-Status': 'animal-adoption-store' } })
}
