/** A shorter secret would also match parts of innocent words. */
export const SHORTEST_SECRET = 8

/** Replaces secrets wherever they occur in a text, also percent-encoded or with JSON's escapes. */
export function hideSecrets(
  text: string,
  secrets: readonly string[],
  labelOf: (secret: string) => string,
): string {
  const plain = unescaped(text)
  const found = secrets.filter(secret => text.includes(secret) || plain.includes(secret))
  if (found.length === 0) return text
  // The longest first: a secret may contain another one.
  return found
    .sort((a, b) => b.length - a.length)
    .reduce((rest, secret) => rest.replace(spellings(secret), () => labelOf(secret)), text)
}

const ESCAPE = /%([0-9a-f]{2})|\\u00([0-9a-f]{2})|\\(["/\\])/gi

function unescaped(text: string): string {
  if (!text.includes('%') && !text.includes('\\')) return text
  return text.replace(ESCAPE, (_, percent?: string, unicode?: string, literal?: string) => {
    const code = percent ?? unicode
    return code === undefined ? (literal ?? '') : String.fromCharCode(Number.parseInt(code, 16))
  })
}

/** Each character as it is, or in one of its escapes. */
function spellings(secret: string): RegExp {
  const characters = [...secret].map(character => {
    const code = character.charCodeAt(0).toString(16).padStart(2, '0')
    const hex = code.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')
    const backslash = /["/\\]/.test(character) ? '\\\\?' : ''
    return `(?:${backslash}${literal}|%${hex}|\\\\u00${hex})`
  })
  return new RegExp(characters.join(''), 'g')
}
