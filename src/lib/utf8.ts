/** Available in every JavaScript runtime, though not part of the language. */
declare class TextDecoder {
  constructor(label: 'utf-8', options: { fatal: true })
  decode(bytes: Uint8Array): string
}

/** The DOM of jsdom has no coders. */
const strict =
  typeof TextDecoder === 'undefined'
    ? { decode: percentDecoded }
    : new TextDecoder('utf-8', { fatal: true })

function percentDecoded(bytes: Uint8Array): string {
  const hex = Array.from(bytes, byte => `%${byte.toString(16).padStart(2, '0')}`)
  return decodeURIComponent(hex.join('')).replace(/^\ufeff/, '')
}

/** Decodes strict UTF-8, without a byte order mark (RFC 8259 §8.1). @throws TypeError */
export function decodeUtf8(bytes: Uint8Array): string {
  return strict.decode(bytes)
}

/** Counts UTF-8 bytes; a lone surrogate counts as its three-byte replacement. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) < 0x80) continue
    const point = text.codePointAt(at) as number
    bytes += point < 0x800 ? 1 : 2
    // A surrogate pair is two units and four bytes.
    if (point > 0xffff) at++
  }
  return bytes
}
