import { printable } from '../../src/lib/printable.js'
import type { CheckFailure } from './check-failure.js'
import type { Reply } from './check-types.js'
import type { CheckResult } from './verify-options.js'

type Redact = (text: string) => string

/** Prepares a failure for reports: each part in one line, without keys. */
export function evidenceOf(
  { sent, came, expected, guilty }: CheckFailure,
  redact: Redact,
): NonNullable<CheckResult['failure']> {
  const text =
    typeof came === 'string' ? excerpt(came, 600, redact) : describe(came, redact, guilty)
  return {
    // Its parts are already shortened.
    sent: copy(printable(redact(sent))),
    came: copy(text),
    expected: copy(excerpt(expected, 400, redact)),
  }
}

/** Copies a string, whose parts would otherwise keep a body of megabytes in memory. */
function copy(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text))
}

function describe({ status, headers, body }: Reply, redact: Redact, guilty?: string): string {
  const fields = [...headers]
    .filter(([name]) => SHOWN.test(name))
    .map(([name, value]) => `${name}: ${excerpt(withoutUser(value), 200, redact)}`)
  const content = body === '' ? [] : [excerpt(body, 300, redact, guilty)]
  return [`${status}`, ...fields, ...content].join(' | ')
}

const SHOWN =
  /^(x-ratelimit-.*|retry-after|content-type|location|allow|www-authenticate|sunset|deprecation|link)$/

/** Removes user and password from addresses. */
export function withoutUser(text: string): string {
  return text.replace(/\/\/[^\s/?#]*@/g, '//…@')
}

/** Larger than any key, yet small enough to search for keys. */
const MARGIN = 65_536
/** Characters shown before the guilty part. */
const LEAD = 80

/** Printable, without keys: the beginning of a text, or the surroundings of the guilty part. */
export function excerpt(text: string, length: number, redact: Redact, guilty = ''): string {
  const at = text.indexOf(guilty)
  if (at < 0) return `${excerpt(text, length / 3, redact)} … ${excerpt(guilty, length / 2, redact)}`
  const from = Math.max(0, at - MARGIN)
  // Redacts before cutting, which would leave the rest of a key.
  const clean = redact(text.slice(from, at + length + MARGIN))
  const found = clean.indexOf(redact(guilty))
  const start = from === 0 && found <= length / 2 ? 0 : Math.max(0, found - LEAD)
  const shown = clean.slice(start, start + length)
  const isCut = start + length < clean.length
  const head = start > 0 ? '… ' : ''
  const tail = isCut ? '…' : ''
  const size = start > 0 || isCut ? ` (${text.length} characters)` : ''
  return `${head}${printable(shown)}${tail}${size}`
}
