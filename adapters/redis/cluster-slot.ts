const SLOTS = 16_384

/** The slot of a key in a cluster: CRC-16/XMODEM of the key, or of its hash tag if it has one. */
export function slotOf(key: string): number {
  let crc = 0
  for (const byte of Buffer.from(hashTagOf(key) ?? key)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc % SLOTS
}

/** What the first pair of braces holds, unless it is empty. */
function hashTagOf(key: string): string | undefined {
  return /^[^{]*\{([^}]+)\}/s.exec(key)?.[1]
}
