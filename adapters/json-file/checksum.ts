import { crc32 } from 'node:zlib'

/** The CRC-32 of bytes that come in pieces. */
export interface Checksum {
  add(bytes: Uint8Array): void
  /** Of all bytes so far: eight digits. */
  digits(): string
}

export function createChecksum(): Checksum {
  let sum = 0
  return {
    add(bytes) {
      sum = crc32(bytes, sum)
    },
    digits: () => sum.toString(16).padStart(8, '0'),
  }
}

/** How a document ends: with the checksum of all bytes before. */
export function endWith(checksum: Checksum): string {
  return `,"crc32":"${checksum.digits()}"}\n`
}

const END_LENGTH = endWith(createChecksum()).length

/** Tells whether a document that is read in pieces ends with its own checksum. */
export interface Seal {
  add(bytes: Buffer): void
  isIntact(): boolean
}

export function createSeal(): Seal {
  const checksum = createChecksum()
  /** What may be the end, and then is not part of the sum. */
  let held = Buffer.alloc(0)
  return {
    add(bytes) {
      // The last bytes are few, and the others are not copied.
      const start = Math.max(0, bytes.length - END_LENGTH)
      const end = Buffer.concat([held, bytes.subarray(start)])
      const before = Math.max(0, end.length - END_LENGTH)
      checksum.add(end.subarray(0, start > 0 ? held.length : before))
      checksum.add(bytes.subarray(0, start))
      held = end.subarray(start > 0 ? held.length : before)
    },
    isIntact: () => held.toString('latin1') === endWith(checksum),
  }
}
