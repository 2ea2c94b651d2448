/** Escapes, in one line, everything that a terminal or a CI runner would obey or hide. */
export function printable(text: string): string {
  return withoutCommands(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, character => {
    const named = NAMED[character]
    if (named !== undefined) return named
    const code = character.codePointAt(0) ?? 0
    const digits = code.toString(16)
    return code < 256 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`
  })
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Escapes `##[command]`, which GitHub obeys anywhere in a log; JSON still means the same. */
export function withoutCommands(text: string): string {
  return text.replaceAll('##[', '##\\u005b')
}
