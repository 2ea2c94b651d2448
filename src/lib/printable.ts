/**
 * In one line, with escapes for what a terminal would obey or hide: control and format characters
 * such as those that reverse the direction of text, and halves of surrogate pairs. No command either.
 */
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

/**
 * GitHub's runner obeys `##[command]` anywhere in a line of a job's log, whoever has written it. In JSON the
 * escape means the same text.
 */
export function withoutCommands(text: string): string {
  return text.replaceAll('##[', '##\\u005b')
}
