import { decodeUtf8 } from '../../src/lib/utf8.js'
import { petToJson } from '../../src/pets/pet.js'
import type { Pet } from '../../src/pets/schema.js'
import type { UsedKey } from '../../src/ports.js'
import type { PetIndex } from '../memory.js'
import { ifPresent } from '../storage/missing-file.js'
import { type BatchHeader, HEADER_LENGTH, HEADER_START, isIntact, readHeader } from './batch.js'
import { type Disk, readAt } from './disk.js'
import { JsonFileError } from './json-file-error.js'
import { KEY_START, parseKeyLine } from './key-line.js'
import { parsePetLine } from './pet-line.js'

/** The end of a journal that is no intact batch, and that its reader leaves out. */
export interface LeftOut {
  /** Of the journal. */
  readonly path: string
  readonly line: number
  readonly bytes: number
  /** A kill leaves less than a whole batch: either a power cut or damage did this. */
  readonly isComplete: boolean
}

/**
 * Adds the pets of all journals that the index lacks, oldest journal first. False when there is no
 * journal.
 *
 * @param leaveOut receives the end of a journal that is left out
 * @param missing the path of the document if there is none
 * @throws JsonFileError naming the line that is damaged, or the document that is missing
 */
export async function replayJournals(
  disk: Disk,
  paths: readonly string[],
  index: PetIndex,
  leaveOut: (end: LeftOut) => void,
  missing?: string,
): Promise<boolean> {
  const journals: OpenJournal[] = []
  try {
    for (const path of paths) {
      const file = await ifPresent(disk.open(path, 'r'))
      if (file === undefined) continue
      const journal: OpenJournal = { path, file, read: readAhead(disk, file), size: 0, firstId: 0 }
      journals.push(journal)
      journal.size = Number((await disk.fstat(file, { bigint: true })).size)
    }
    for (const journal of journals) {
      for await (const { entries } of batchesOf(journal)) {
        journal.firstId = entries[0]?.pet.id ?? 0
        break
      }
    }
    journals.sort((a, b) => a.firstId - b.firstId)
    const first = journals.find(({ firstId }) => firstId > 0)
    if (missing !== undefined && first && first.firstId > 1) throw withoutDocument(missing, first)
    for (const journal of journals) {
      for await (const { entries } of batchesOf(journal, leaveOut)) {
        replay(journal.path, entries, index)
      }
    }
    return journals.length > 0
  } finally {
    for (const { file } of journals) await disk.close(file)
  }
}

interface OpenJournal {
  readonly path: string
  readonly file: number
  readonly read: (position: number, length: number) => Promise<Buffer>
  size: number
  firstId: number
}

interface Entry {
  readonly pet: Pet
  /** The key that stored it. */
  used?: UsedKey
  /** Where its line is in the file. */
  readonly line: number
}

function replay(path: string, entries: readonly Entry[], index: PetIndex): void {
  for (const { pet, used, line } of entries) {
    if (pet.id === index.nextId()) {
      index.insert(pet, pet.id)
      if (used) index.use(used)
      continue
    }
    const known = index.find(pet.id)
    if (known && petToJson(known) === petToJson(pet)) continue
    const found = `line ${line} has the pet ${pet.id} where ${index.nextId()} is next`
    const fix = 'put back the document it belongs to, or remove it to go on without its animals'
    throw new JsonFileError(path, `does not continue its document: ${found}; ${fix}`)
  }
}

/**
 * The batches of a journal. A last batch that is not intact was being written at a crash or a power
 * cut, was never acknowledged, and is left out.
 */
async function* batchesOf(
  journal: OpenJournal,
  leaveOut: (end: LeftOut) => void = () => {},
): AsyncGenerator<{ readonly entries: readonly Entry[] }> {
  const { path, size } = journal
  let line = 1
  for (let position = 0; position < size; ) {
    const { start, header, lines } = await readBatch(journal, position)
    const read = lines && parseLines(lines, line + 1)
    if (!header || !lines || !isIntact(header, lines)) {
      // A write that was cut off begins with a header.
      if (start.startsWith('{"id":') || start.startsWith(KEY_START))
        throw damaged(path, `the pet in line ${line} has no batch`)
      // An unfinished write leaves no complete lines: something else changed a digit.
      if (read) throw damaged(path, `the checksum of line ${line} does not match its batch`)
      if (await isUnfinished(journal, position, header)) {
        const isComplete = lines !== undefined || (await hasAllLines(journal, position, header))
        return leaveOut({ path, line, bytes: size - position, isComplete })
      }
      throw damaged(path, `line ${line} does not begin an intact batch`)
    }
    if (!read) throw damaged(path, `the batch lines from line ${line + 1} on are not all pets`)
    yield read
    line += 1 + read.lines
    position += HEADER_LENGTH + header.length
  }
}

/** Without `lines` when the file ends before they do. */
async function readBatch({ read, size }: OpenJournal, position: number) {
  const bytes = await read(position, HEADER_LENGTH)
  const start = bytes.toString('latin1')
  const header = readHeader(start)
  const begin = position + HEADER_LENGTH
  if (!header || begin + header.length > size) return { start, header }
  return { start, header, lines: await read(begin, header.length) }
}

/** Whether nothing follows that was written after this batch, and so after it was durable. */
async function isUnfinished(
  journal: OpenJournal,
  position: number,
  header: BatchHeader | undefined,
): Promise<boolean> {
  if (header && position + HEADER_LENGTH + header.length < journal.size) return false
  // The header may be damaged as well: only an intact batch shows where the next one begins.
  for (let at = position; ; ) {
    const bytes = await journal.read(at, PIECE)
    const found = bytes.indexOf(HEADER_START)
    if (found < 0 && bytes.length < PIECE) return true
    at += found < 0 ? PIECE - HEADER_START.length : found + 1
    if (found < 0) continue
    const next = await readBatch(journal, at - 1)
    if (next.header && next.lines && isIntact(next.header, next.lines)) return false
  }
}

/** Whether the last batch is complete, but its header is damaged. */
async function hasAllLines(
  { read, size }: OpenJournal,
  position: number,
  header: BatchHeader | undefined,
): Promise<boolean> {
  if (!header) return (await read(size - 1, 1))[0] === NEWLINE
  const begin = position + HEADER_LENGTH
  return isIntact(header, await read(begin, size - begin))
}

/** Reads more than it is asked for, so that small batches do not cost a call each. */
function readAhead(disk: Disk, file: number): OpenJournal['read'] {
  let start = 0
  let bytes: Buffer = Buffer.alloc(0)
  return async (position, length) => {
    if (position < start || position + length > start + bytes.length) {
      start = position
      bytes = await readAt(disk, file, position, Math.max(length, PIECE))
    }
    return bytes.subarray(position - start, position - start + length)
  }
}

/** @param first the number of the first line in the file */
function parseLines(bytes: Buffer, first: number) {
  const text = readUtf8(bytes)
  if (!text?.endsWith('\n')) return undefined
  const entries: Entry[] = []
  const lines = text.slice(0, -1).split('\n')
  for (const [at, line] of lines.entries()) {
    const pet = parsePetLine(line)
    if (pet) {
      entries.push({ pet, line: first + at })
      continue
    }
    const last = entries.at(-1)
    const used = parseKeyLine(line)
    if (!used || !last || last.used || used.petId !== last.pet.id) return undefined
    last.used = used
  }
  return { entries, lines: lines.length }
}

function readUtf8(bytes: Buffer): string | undefined {
  try {
    return decodeUtf8(bytes)
  } catch {
    return undefined
  }
}

function damaged(path: string, reason: string): JsonFileError {
  return new JsonFileError(path, `is damaged: ${reason}`)
}

function withoutDocument(path: string, { path: journal, firstId }: OpenJournal): JsonFileError {
  const found = `${journal} has the animals from id ${firstId} on`
  const fix = 'put the document with those before it back beside it'
  const loss = 'or remove the journal to start without any of them'
  return new JsonFileError(path, `is missing, but ${found}; ${fix}, ${loss}`)
}

const PIECE = 65_536
const NEWLINE = 0x0a
