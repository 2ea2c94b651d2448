/**
 * In one line, with escapes for what a terminal would obey or hide: control and format characters
 * such as those that reverse the direction of text, and halves of surrogate pairs.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, character => {
    const named = NAMED[character]
    if (named !== undefined) return named
    const code = character.codePointAt(0) ?? 0
    const digits = code.toString(16)
    return code < 256 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`
  })
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
