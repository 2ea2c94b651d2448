/** Returns 62 bits. Not cryptographic: different texts differ, except by accident. */
export function fingerprint(text: string): string {
  let one = 0x811c9dc5
  let two = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x01000193)
    one ^= one >>> 15
    two = Math.imul((two << 5) ^ (two >>> 27) ^ unit, 0x9e3779b1)
  }
  return digits(one) + digits(two ^ (two >>> 16))
}

/** Twelve characters at once: V8 keeps longer concatenations in pieces, which take more memory. */
function digits(half: number): string {
  return (half >>> 1).toString(36).padStart(6, '0')
}
