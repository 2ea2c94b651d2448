import { REDACTED } from './redact.js'

export interface PlainRequest {
  readonly method: string
  readonly target: string
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string
}

/**
 * Writes a bash command that sends the same request, byte for byte. The key is in
 * `$ADOPTION_STORE_API_KEY`; a body that no argument can hold (with a NUL, or beyond 100 kB) is in
 * the file `body`.
 * @param isForReading has a line per option, prints the response's headers, and lets curl add its own
 */
export function curlOf(request: PlainRequest, origin: string, isForReading = false): string {
  const { method, target, headers, body: given } = request
  const body = typeof given === 'string' ? new TextEncoder().encode(given) : given
  const hasBody = body.length > 0 || isFramed(method, headers)
  return [
    isForReading ? 'curl -i' : 'curl -sS',
    ...methodOptions(method, hasBody),
    ...targetOptions(origin, target),
    ...Object.entries(headers).flatMap(([name, value]) => headerOption(name, value, hasBody)),
    ...(isForReading ? [] : unsentHeaders(headers, hasBody, body.length)),
    ...(hasBody ? [bodyOption(body)] : []),
  ].join(isForReading ? ' \\\n  ' : ' ')
}

/** True if curl has to frame a body, even an empty one. With `-I`, it sends any Content-Length. */
function isFramed(method: string, headers: PlainRequest['headers']): boolean {
  if (headers['transfer-encoding'] !== undefined) return true
  return headers['content-length'] !== undefined && method !== 'HEAD'
}

function methodOptions(method: string, hasBody: boolean): readonly string[] {
  if (method === 'HEAD' && !hasBody) return ['-I']
  const option = `-X ${/^[A-Z]+$/.test(method) ? method : quoted(bytesOf(method))}`
  // `-I` alone lets curl expect no body, but excludes sending one, so curl has to give up.
  if (method === 'HEAD') return [option, '-m 5']
  return method === 'GET' && !hasBody ? [] : [option]
}

/** Characters that curl sends unchanged; brackets and braces only with `-g`. */
const PLAIN_TARGET = /^\/[\w.~!$&'()*+,;=:@%/?[\]{}-]*$/

function targetOptions(origin: string, target: string): readonly string[] {
  if (!PLAIN_TARGET.test(target)) {
    return [`--request-target ${quoted(bytesOf(target))}`, quoted(bytesOf(`${origin}/`))]
  }
  return [
    ...(/[[\]{}]/.test(target) ? ['-g'] : []),
    ...(/\/(\.|%2e){1,2}(\/|\?|$)/i.test(target) ? ['--path-as-is'] : []),
    quoted(bytesOf(origin + target)),
  ]
}

function headerOption(name: string, value: string, hasBody: boolean): readonly string[] {
  if (name === 'host' || (name === 'content-length' && hasBody)) return []
  if (name === 'authorization' && value.endsWith(REDACTED)) {
    return [`-H "authorization: ${value.slice(0, -REDACTED.length)}$ADOPTION_STORE_API_KEY"`]
  }
  return [`-H ${quoted(bytesOf(value === '' ? `${name};` : `${name}: ${value}`))}`]
}

/** Size from which curl asks before it sends a body. */
const LARGE_BODY = 1_024

function unsentHeaders(
  headers: PlainRequest['headers'],
  hasBody: boolean,
  size: number,
): readonly string[] {
  const own = ['accept', 'user-agent', ...(hasBody ? ['content-type'] : [])]
  if (size > LARGE_BODY) own.push('expect')
  return own.filter(name => headers[name] === undefined).map(name => `-H '${name}:'`)
}

/** Linux limits an argument to 128 KiB. */
const LONGEST_ARGUMENT = 100_000

function bodyOption(body: Uint8Array): string {
  const fits = body.length <= LONGEST_ARGUMENT && !body.includes(0)
  return fits ? `--data-raw ${quoted(body)}` : '--data-binary @body'
}

/** Headers and targets are Latin-1 on the wire. */
function bytesOf(text: string): Uint8Array {
  if (/[^\0-\xff]/.test(text)) return new TextEncoder().encode(text)
  return Uint8Array.from(text, character => character.charCodeAt(0))
}

/** Control characters, and those that hide or reorder others on a screen. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

function quoted(bytes: Uint8Array): string {
  const text = utf8Text(bytes)
  if (text !== undefined && !UNREADABLE.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`
  return `$'${[...bytes].map(inAnsiC).join('')}'`
}

/** Undefined for invalid UTF-8. Keeps a byte order mark, which is part of the body. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function inAnsiC(byte: number): string {
  if (byte === 0x0a) return '\\n'
  const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
  return isPlain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
}
