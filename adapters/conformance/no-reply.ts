import { CheckFailure } from './expect.js'

/** A request without a complete HTTP response. */
export class NoReply extends CheckFailure {
  /** What went wrong, such as `ECONNREFUSED`. */
  readonly reason: string

  constructor(sent: string, reason: string) {
    super(sent, `no response: ${reason}`, 'an HTTP response')
    this.reason = reason
  }
}

/** The innermost reason of a failed request, as far as it has a code. */
export function reasonOf(thrown: unknown): string {
  const { code, message, name, cause } = thrown as Error & { code?: unknown }
  if (cause !== undefined && cause !== null) return reasonOf(cause)
  if (name === 'TimeoutError') return 'timeout'
  // Newer versions of Node give it no code.
  if (name === 'HTTPParserError') return String(code ?? 'HPE_INVALID')
  return typeof code === 'string' && code !== '' ? code : message
}
