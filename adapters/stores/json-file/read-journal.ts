import { crc32 } from 'node:zlib'
import { parseJson } from '../../../src/lib/json.js'
import { decodeUtf8 } from '../../../src/lib/utf8.js'
import { petToJson, toPet } from '../../../src/pets/pet.js'
import type { Pet } from '../../../src/pets/schema.js'
import type { UsedKey } from '../../../src/pets/used-key.js'
import type { Disk } from '../kit/disk.js'
import { ifPresent } from '../kit/durable-files.js'
import type { PetIndex } from '../kit/pet-index.js'
import type { DocumentFile } from './document.js'
import { digits, HEADER, HEADER_LENGTH } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import { storedKeySchema, storedPetSchema } from './parse-document.js'

/** Adds the animals of a journal, which its document may have after a crash. @throws JsonFileError */
export async function readJournal(
  disk: Disk,
  path: string,
  document: string,
  { id, hasJournal }: Pick<DocumentFile, 'id' | 'hasJournal'>,
  index: PetIndex,
): Promise<{ readonly hasJournal: boolean; readonly unfinished?: JsonFileError }> {
  const bytes = await ifPresent(disk.readFile(path))
  if (hasJournal && !bytes?.length) {
    const fix = 'copy both files, or remove `journal` from the document to lose them'
    throw new JsonFileError(document, `lacks ${path}, which has its last animals; ${fix}`)
  }
  if (!bytes) return { hasJournal: false }
  const { batches, unfinished } = batchesOf(path, bytes)
  if (batches.every(({ documentId }) => documentId === id)) {
    for (const batch of batches) add(path, batch, index)
  } else if (id === undefined) {
    const loss = `put it back, or remove ${path} to start without its animals`
    throw new JsonFileError(document, `is missing, but ${path} has its last animals; ${loss}`)
  } else if (
    hasJournal ||
    !batches.every(({ entries }) => entries.every(({ pet }) => has(index, pet)))
  ) {
    const fix =
      'put back the document that it belongs to, or remove the journal to lose its animals'
    throw new JsonFileError(document, `is not the document that ${path} was written for; ${fix}`)
  }
  if (unfinished === 0) return { hasJournal: true }
  const found = `ends in ${unfinished} bytes of an unfinished write, which were never acknowledged`
  return { hasJournal: true, unfinished: new JsonFileError(path, found) }
}

function add(path: string, { line, entries }: Batch, index: PetIndex): void {
  for (const { pet, used } of entries) {
    const next = index.nextId()
    if (pet.id !== next) {
      const found = `the batch in line ${line} has the id ${pet.id} where ${next} is next`
      throw new JsonFileError(path, `is damaged: ${found}`)
    }
    index.insert(pet, pet.id)
    if (used) index.use(used)
  }
}

function has(index: PetIndex, pet: Pet): boolean {
  const found = index.find(pet.id)
  return found !== undefined && petToJson(found) === petToJson(pet)
}

interface Batch {
  readonly documentId: string
  readonly line: number
  readonly entries: readonly Entry[]
}

interface Entry {
  readonly pet: Pet
  used?: UsedKey
}

function batchesOf(path: string, bytes: Buffer) {
  const batches: Batch[] = []
  let line = 1
  for (let position = 0; position < bytes.length; ) {
    const { documentId, lines, isIntact } = batchAt(bytes, position)
    const entries = lines && parseLines(lines)
    if (!entries || !isIntact) {
      const end = bytes.subarray(position)
      const isLast = !lines || end.length === HEADER_LENGTH + lines.length
      // A power cut may leave any part of the last batch, but never other animals in its place.
      // The first batch was durable before the document had a journal.
      if (isLast && !entries && !isIntact && position > 0 && !isFollowed(end)) {
        return { batches, unfinished: end.length }
      }
      throw new JsonFileError(path, `is damaged: line ${line} does not begin an intact batch`)
    }
    batches.push({ documentId, line, entries })
    line += 1 + entries.length + entries.filter(({ used }) => used).length
    position += HEADER_LENGTH + lines.length
  }
  return { batches, unfinished: 0 }
}

function batchAt(bytes: Buffer, position: number) {
  const begin = position + HEADER_LENGTH
  const header = HEADER.exec(bytes.subarray(position, begin).toString('latin1')) ?? []
  const [, checksum, length = '', documentId = ''] = header
  const end = begin + Number(length)
  const lines =
    checksum !== undefined && end <= bytes.length ? bytes.subarray(begin, end) : undefined
  return { documentId, lines, isIntact: lines !== undefined && digits(crc32(lines)) === checksum }
}

/** A following header proves that this batch was durable when it was written. */
function isFollowed(end: Buffer): boolean {
  // In an animal, these quotes are escaped.
  return end.includes(',"document":"', HEADER_LENGTH)
}

function parseLines(lines: Buffer): readonly Entry[] | undefined {
  const entries: Entry[] = []
  try {
    const text = decodeUtf8(lines)
    if (text === '') return entries
    if (!text.endsWith('\n')) return undefined
    for (const line of text.slice(0, -1).split('\n')) {
      const value = parseJson(line) as object
      const last = entries.at(-1)
      if (!('petId' in value)) {
        const { id, ...pet } = storedPetSchema.parse(value)
        entries.push({ pet: toPet(id, pet) })
      } else if (last && !last.used && value.petId === last.pet.id) {
        last.used = storedKeySchema.parse(value)
      } else return undefined
    }
    return entries
  } catch {
    return undefined
  }
}
