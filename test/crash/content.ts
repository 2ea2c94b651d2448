/** The bytes of a file, which grow without being copied each time. */
export interface Content {
  bytes(): Buffer
  write(position: number, bytes: Buffer): void
  /** Zeros beyond the end, as in a file. */
  resize(length: number): void
}

export function createContent(begin: Buffer = Buffer.alloc(0)): Content {
  let room = begin
  let length = begin.length

  return {
    bytes: () => room.subarray(0, length),
    write(position, bytes) {
      resize(Math.max(length, position + bytes.length))
      bytes.copy(room, position)
    },
    resize,
  }

  function resize(next: number): void {
    if (next > room.length || room === begin) {
      const larger = Buffer.alloc(2 * Math.max(next, length))
      room.copy(larger, 0, 0, length)
      room = larger
    }
    if (next < length) room.fill(0, next, length)
    length = next
  }
}
