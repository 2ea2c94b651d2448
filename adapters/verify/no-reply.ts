import { CheckFailure } from './check-failure.js'

/** Exceeds any response of the API, but not our memory. */
const LONGEST_BODY = 2 * 1_048_576

/** A request without a complete HTTP response. */
export class NoReply extends CheckFailure {
  /** `timeout`, `too-large`, or a code such as `ECONNREFUSED`. */
  readonly code: string
  readonly reason: string

  constructor(sent: string, code: string, reason = inWords(code)) {
    super({ sent, came: `no response: ${reason}`, expected: 'an HTTP response' })
    this.code = code
    this.reason = reason
  }
}

export async function readBody(
  chunks: AsyncIterable<Uint8Array> | null,
  sent: string,
): Promise<string> {
  // Keeps a byte order mark, so that parsing fails: JSON has none (RFC 8259 §8.1).
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  let size = 0
  for await (const chunk of chunks ?? []) {
    size += chunk.length
    if (size > LONGEST_BODY) {
      throw new NoReply(sent, 'too-large', 'a body of more than 2 MiB, whose rest was not read')
    }
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Code of the innermost cause of a failed request; its message if there is no code. */
export function codeOf(thrown: unknown): string {
  const { code, message, name, cause } = thrown as Error & { code?: unknown }
  if (cause !== undefined && cause !== null) return codeOf(cause)
  // Newer versions of Node give this error no code.
  if (name === 'HTTPParserError') return String(code ?? 'HPE_INVALID')
  return typeof code === 'string' && code !== '' ? code : message
}

export function isClosed(code: string): boolean {
  return /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(code)
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^UND_ERR_(SOCKET|CLOSED|DESTROYED)|^ECONNRESET|^EPIPE/, 'the connection was closed'],
  [/^ECONNREFUSED/, 'connection refused (ECONNREFUSED)'],
  [/HEADER(S)?_OVERFLOW/, 'more header fields than a client reads'],
  [/^UND_ERR_RES_CONTENT_LENGTH/, 'a body whose length differs from its Content-Length'],
  [/^(Z_|ERR_.*BROTLI)|^zlib|^Decompression/i, 'a body that its Content-Encoding cannot decode'],
]

function inWords(code: string): string {
  const [, words] = WORDS.find(([pattern]) => pattern.test(code)) ?? []
  if (words !== undefined) return words
  return code.startsWith('HPE_') ? `invalid HTTP (${code})` : code
}
