import { decodeUtf8 } from '../../src/lib/utf8.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import { createSeal, type Seal } from './checksum.js'
import { type Disk, readAt } from './disk.js'
import { parseKeyLine } from './key-line.js'
import { parsePetLine } from './pet-line.js'

export interface OwnLayout {
  readonly index: PetIndex
  /** Whether it has a checksum that does not match: somebody or something has changed it. */
  readonly isChanged: boolean
}

/**
 * Reads a document with a line per pet, as this storage writes it, in pieces: no document is too
 * large, and none is in memory twice. Undefined for any other layout, and for invalid pets.
 */
export async function readOwnLayout(disk: Disk, file: number): Promise<OwnLayout | undefined> {
  const index = createPetIndex()
  const seal = createSeal()
  let isSealed = false
  let read: ReadLine = readBegin
  for await (const lines of linesOf(disk, file, seal)) {
    for (const line of lines) {
      const next = read(line)
      if (!next) return undefined
      read = next
    }
  }
  return read === readNothing ? { index, isChanged: isSealed && !seal.isIntact() } : undefined

  function readBegin(line: string): ReadLine | undefined {
    return line === BEGIN ? readPet : undefined
  }

  function readPet(line: string): ReadLine | undefined {
    const isLast = !line.endsWith(',')
    const pet = parsePetLine(isLast ? line : line.slice(0, -1))
    if (!pet || pet.id < index.nextId()) return undefined
    index.insert(pet, pet.id)
    return isLast ? readEnd : readPet
  }

  function readEnd(line: string): ReadLine | undefined {
    const [, digits, keys, checksum] = END.exec(line) ?? []
    const nextId = Number(digits)
    if (!(nextId >= index.nextId())) return undefined
    index.skipTo(nextId)
    isSealed = checksum !== undefined
    return keys === undefined ? readNothing : readKey
  }

  function readKey(line: string): ReadLine | undefined {
    const isLast = !line.endsWith(',')
    const used = parseKeyLine(isLast ? line : line.slice(0, -1))
    if (!used) return undefined
    index.use(used)
    return isLast ? readKeysEnd : readKey
  }

  function readKeysEnd(line: string): ReadLine | undefined {
    const [found, checksum] = KEYS_END.exec(line) ?? []
    isSealed = checksum !== undefined
    return found === undefined ? undefined : readNothing
  }

  function readNothing(): undefined {}
}

/** Returns the reader of the next line, or undefined when this line is not in our layout. */
type ReadLine = (line: string) => ReadLine | undefined

const BEGIN = '{"pets":['
const END = /^\],"nextId":([1-9]\d{0,14})(?:(,"idempotencyKeys":\[)|(,"crc32":"[0-9a-f]{8}")?\})$/
const KEYS_END = /^\](,"crc32":"[0-9a-f]{8}")?\}$/

/** The lines of a file, those of a piece at a time. */
async function* linesOf(disk: Disk, file: number, seal: Seal): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0)
  for (let position = 0; ; ) {
    // As long as the rest of the line, so that a huge line is not copied repeatedly.
    const piece = await readAt(disk, file, position, Math.max(PIECE, rest.length))
    if (piece.length === 0) {
      if (rest.length > 0) yield [decodeUtf8(rest)]
      return
    }
    seal.add(piece)
    position += piece.length
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    const end = bytes.lastIndexOf(NEWLINE)
    rest = bytes.subarray(end + 1)
    if (end >= 0) yield decodeUtf8(bytes.subarray(0, end)).split('\n')
  }
}

const PIECE = 262_144
const NEWLINE = 0x0a
