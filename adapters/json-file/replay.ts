import { parseJson } from '../../src/lib/json.js'
import { decodeUtf8 } from '../../src/lib/utf8.js'
import { petToJson, toPet } from '../../src/pets/pet.js'
import type { Pet } from '../../src/pets/schema.js'
import type { UsedKey } from '../../src/ports.js'
import type { PetIndex } from '../memory.js'
import type { Disk } from '../storage/disk.js'
import { ifPresent } from '../storage/files.js'
import { usedKeySchema } from '../storage/stored.js'
import type { DocumentFile } from './document.js'
import { readBatches } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import { storedPetSchema } from './parse-document.js'

/** What the last process has left. */
export interface Left {
  readonly hasJournal: boolean
  /** How many bytes of an unfinished write the journal ends with, which nobody was told of. */
  readonly unfinished: number
}

/**
 * Adds the animals of a journal to those of its document. A journal whose animals the document has
 * already, as after a crash at the end of a compaction, adds nothing.
 *
 * @throws JsonFileError for a journal that is damaged, or was not written for this document
 */
export async function replayJournal(
  disk: Disk,
  path: string,
  document: string,
  { id }: Pick<DocumentFile, 'id'>,
  index: PetIndex,
): Promise<Left> {
  const bytes = await ifPresent(disk.readFile(path))
  if (!bytes) return { hasJournal: false, unfinished: 0 }
  const { batches, unfinished } = readBatches(path, bytes, lines => parseLines(lines) !== undefined)
  const entries = batches.map(({ lines, line }) => {
    const parsed = parseLines(lines)
    if (parsed) return { line, parsed }
    throw new JsonFileError(path, `is damaged: the batch in line ${line} has other than animals`)
  })
  if (batches.every(({ documentId }) => documentId === id)) {
    for (const { line, parsed } of entries) add(path, line, parsed, index)
  } else if (id === undefined) {
    const loss = `put it back, or remove ${path} to start without its animals`
    throw new JsonFileError(document, `is missing, but ${path} has its last animals; ${loss}`)
  } else if (!entries.every(({ parsed }) => parsed.every(({ pet }) => has(index, pet)))) {
    const fix =
      'put back the document that it belongs to, or remove the journal to lose its animals'
    throw new JsonFileError(document, `is not the document that ${path} was written for; ${fix}`)
  }
  return { hasJournal: true, unfinished }
}

interface Entry {
  readonly pet: Pet
  used?: UsedKey
}

function add(path: string, line: number, entries: readonly Entry[], index: PetIndex): void {
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

/** Undefined for anything but animals, each with the key that created it, if it has one. */
function parseLines(lines: Buffer): readonly Entry[] | undefined {
  const entries: Entry[] = []
  try {
    const text = decodeUtf8(lines)
    if (!text.endsWith('\n')) return undefined
    for (const line of text.slice(0, -1).split('\n')) {
      const value = parseJson(line) as object
      const last = entries.at(-1)
      if (!('petId' in value)) {
        const { id, ...pet } = storedPetSchema.parse(value)
        entries.push({ pet: toPet(id, pet) })
      } else if (last && !last.used && value.petId === last.pet.id) {
        last.used = usedKeySchema.parse(value)
      } else return undefined
    }
    return entries
  } catch {
    return undefined
  }
}
