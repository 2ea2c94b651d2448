/**
 * Part of every JavaScript runtime, though not of the language: the one thing the core asks of its
 * surroundings.
 */
declare class TextDecoder {
  constructor(label: 'utf-8', options: { fatal: true })
  decode(bytes: Uint8Array): string
}

const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * The text of strict UTF-8, without a leading byte order mark (RFC 8259 §8.1). @throws TypeError
 * otherwise
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return strict.decode(bytes)
}

/**
 * How many bytes the text has in UTF-8. A lone surrogate counts as the three bytes of its
 * replacement.
 */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A pair is two units and four bytes: two more than its units, and the loop has passed both.
    if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(at + 1))) at++
  }
  return bytes
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
