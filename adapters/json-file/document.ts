import type { Adapter } from 'lowdb'
import { petToJson } from '../../src/json.js'
import type { Pet } from '../../src/model.js'
import type { PetSnapshot } from '../../src/ports.js'
import { decodeUtf8 } from '../../src/utf8.js'
import { type Disk, readIfThere, replaceFile } from './disk.js'
import { JsonFileError } from './json-file-error.js'
import { parsePetLine } from './pet-line.js'

/** The adapter that lowdb reads and writes the document with: one pet per line, replaced whole. */
export interface DocumentFile extends Adapter<PetSnapshot> {
  /** Of what was written last, in bytes. */
  readonly length: number
}

export function documentFile(disk: Disk, path: string, mode: number): DocumentFile {
  let length = 0

  return {
    get length() {
      return length
    },
    /** @throws JsonFileError when the content is not a document */
    async read() {
      const bytes = await readIfThere(disk, path)
      if (!bytes) return null
      length = bytes.length
      return parse(path, bytes)
    },
    async write(snapshot) {
      length = await replaceFile(disk, path, linesOf(snapshot), mode)
    },
  }
}

async function parse(path: string, bytes: Uint8Array): Promise<PetSnapshot> {
  if (bytes.length === 0) {
    throw new JsonFileError(path, 'is empty; remove it to begin without animals')
  }
  try {
    const text = decodeUtf8(bytes)
    const own = parseOwn(text)
    if (own) return own
    const { parseDocument } = await import('./parse-document.js')
    return await parseDocument(text)
  } catch (cause) {
    const reason = (cause as Error).message.replaceAll('\n', ' ')
    throw new JsonFileError(path, `cannot be read: ${reason}`, { cause })
  }
}

/** Read line by line where it looks as it was written here; undefined otherwise. */
function parseOwn(text: string): PetSnapshot | undefined {
  const end = END.exec(text)
  if (!text.startsWith(BEGIN) || !end) return undefined
  const pets: Pet[] = []
  for (const line of text.slice(BEGIN.length, end.index).split(',\n')) {
    const pet = parsePetLine(line)
    if (!pet) return undefined
    pets.push(pet)
  }
  return { pets, nextId: Number(end[1]) }
}

const BEGIN = '{"pets":[\n'
const END = /\n\],"nextId":([1-9]\d{0,14})\}\n$/

/** In chunks, between which other work gets its turn. */
function* linesOf({ pets, nextId }: PetSnapshot): Generator<string> {
  if (pets.length === 0) yield '{"pets":['
  for (let start = 0; start < pets.length; start += PETS_PER_CHUNK) {
    const lines = pets.slice(start, start + PETS_PER_CHUNK).map(petToJson)
    yield (start === 0 ? BEGIN : ',\n') + lines.join(',\n')
  }
  yield pets.length === 0 ? `],"nextId":${nextId}}\n` : `\n],"nextId":${nextId}}\n`
}

const PETS_PER_CHUNK = 1_000
