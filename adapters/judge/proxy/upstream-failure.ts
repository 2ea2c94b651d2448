/** Why the service gave no response, and what the client gets instead. */
export interface UpstreamFailure {
  readonly status: 502 | 504
  readonly code: 'bad_gateway' | 'gateway_timeout'
  /** For people, without an address. */
  readonly reason: string
}

export function timedOut(timeoutMs: number): UpstreamFailure {
  return {
    status: 504,
    code: 'gateway_timeout',
    reason: `nothing came for ${timeoutMs / 1_000} s`,
  }
}

export function failureOf(error: NodeJS.ErrnoException): UpstreamFailure {
  return { status: 502, code: 'bad_gateway', reason: reasonOf(error) }
}

function reasonOf({ code = '', message }: NodeJS.ErrnoException): string {
  const [, words] = WORDS.find(([pattern]) => pattern.test(code)) ?? []
  if (words !== undefined) return `${words} (${code})`
  if (code.startsWith('HPE_')) return `a response that is not valid HTTP (${code})`
  return code === '' ? (message.split('\n')[0] ?? '') : code
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^ECONNRESET$|^EPIPE$/, 'the connection was closed'],
  [/^ENOTFOUND$|^EAI_/, 'the host name is unknown'],
  [/^E(HOST|NET)UNREACH$/, 'the host cannot be reached'],
  [/^ETIMEDOUT$/, 'the connection timed out'],
  [
    /CERT|^UNABLE_TO|SIGNED|^ERR_TLS|^ERR_SSL|^EPROTO$/,
    'the TLS certificate or connection is not accepted',
  ],
  [/OVERFLOW/, 'more header fields than a client reads'],
]
