import { createChecksum } from './checksum.js'

/**
 * A batch is the pets that were inserted together: a header line with the checksum and length of the
 * rest, then a line per pet. All lines are JSON. The header is padded with spaces to a fixed length,
 * so that it can be read without searching for its end.
 */
export function encodeBatch(lines: string): Buffer {
  const batch = Buffer.allocUnsafe(HEADER_LENGTH + Buffer.byteLength(lines))
  batch.write(lines, HEADER_LENGTH)
  batch.write(headerOf(batch.subarray(HEADER_LENGTH)), 'latin1')
  return batch
}

export interface BatchHeader {
  readonly checksum: string
  /** The length of the lines after the header, in bytes. */
  readonly length: number
}

/** Undefined for anything but a header that `encodeBatch` wrote. */
export function readHeader(text: string): BatchHeader | undefined {
  const [, checksum, length] = HEADER.exec(text) ?? []
  if (checksum === undefined) return undefined
  return { checksum, length: Number(length) }
}

export function isIntact(header: BatchHeader, lines: Buffer): boolean {
  return checksumOf(lines) === header.checksum
}

export const HEADER_LENGTH = 48
/** How every header begins. */
export const HEADER_START = '{"crc32":"'
const HEADER = /^\{"crc32":"([0-9a-f]{8})","bytes":([1-9]\d*)\} *\n$/

function headerOf(lines: Buffer): string {
  const fields = `${HEADER_START}${checksumOf(lines)}","bytes":${lines.length}}`
  return `${fields.padEnd(HEADER_LENGTH - 1)}\n`
}

function checksumOf(lines: Buffer): string {
  const checksum = createChecksum()
  checksum.add(lines)
  return checksum.digits()
}
