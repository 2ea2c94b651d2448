import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { petToJson } from '../../../src/pets/pet.js'
import type { UsedKey } from '../../../src/pets/used-key.js'
import type { Disk, FileStats } from '../kit/disk.js'
import { ifPresent, isSameFile, replaceFile, syncFolder } from '../kit/durable-files.js'
import { createPetIndex, type PetIndex } from '../kit/pet-index.js'
import { digits } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'
import { isForeign, parseDocument } from './parse-document.js'

export type DocumentFile = ReturnType<typeof documentFile>

/** The adapter of lowdb. After a failed write, `id` tells whether the old or the new file is there. */
export function documentFile(
  disk: Disk,
  path: string,
  lock: Lock,
  report: (error: JsonFileError) => void,
) {
  let known: FileStats | undefined
  let id: string | undefined
  let hasJournal = false

  return {
    /** The CRC-32 of the file, which a journal repeats; undefined without a file. */
    get id() {
      return id
    },
    /** The file that was read has a journal, without which animals are missing. */
    get hasJournal() {
      return hasJournal
    },
    /** In bytes. */
    get length() {
      return Number(known?.size ?? 0n)
    },
    /** The path still has the file that was last read or written, unchanged. */
    isInPlace(): boolean {
      const found = disk.statSync(path, { bigint: true, throwIfNoEntry: false })
      if (!found || !known) return found === known
      return (
        isSameFile(found, known) && found.size === known.size && found.mtimeNs === known.mtimeNs
      )
    },
    async read(): Promise<PetIndex | null> {
      const stats = await ifPresent(disk.stat(path, { bigint: true }))
      if (!stats) return null
      const bytes = await disk.readFile(path)
      known = stats
      id = digits(crc32(bytes))
      const checksum = checksumIn(bytes)
      const parsed = parse(path, bytes, checksum === 'matches')
      hasJournal = parsed.journal === true
      if (checksum === 'differs') report(new JsonFileError(path, CHANGED))
      return parsed.index
    },
    write: (index: PetIndex) => write(index),
    /** @param begin makes a journal durable for the document with this id, before the rename */
    writeWithJournal: write,
  }

  async function write(index: PetIndex, begin?: (id: string) => Promise<void>): Promise<void> {
    lock.check()
    let next = ''
    known = await replaceFile(disk, path, {
      temporary: join(lock.folder, 'document'),
      content: () => sealed(index, begin !== undefined, checksum => (next = checksum)),
      beforeRename: async () => begin?.(next),
    })
    id = next
    await syncFolder(disk, path)
  }
}

function parse(path: string, bytes: Buffer, isIntact: boolean) {
  if (bytes.length === 0) {
    throw new JsonFileError(path, 'is empty; remove it to start without animals')
  }
  try {
    const { journal, ...snapshot } = parseDocument(bytes, isIntact)
    return { index: createPetIndex(snapshot), journal }
  } catch (cause) {
    const reason = (cause as Error).message.replaceAll('\n', ' ')
    const fix = isForeign(bytes) ? '; to bring these animals, use copy' : ''
    throw new JsonFileError(path, `cannot be read: ${reason}${fix}`, { cause })
  }
}

function checksumIn(bytes: Buffer): 'missing' | 'matches' | 'differs' {
  const [end, sum] = END.exec(bytes.subarray(-40).toString('latin1')) ?? []
  if (end === undefined) return 'missing'
  return sum === digits(crc32(bytes.subarray(0, -end.length))) ? 'matches' : 'differs'
}

const END = /,\s*"crc32"\s*:\s*"([^"]*)"\s*\}\s*$/

const CHANGED =
  'has changed since it was saved: its checksum does not match. Unless somebody edited it, it is damaged; ' +
  'to keep an edit, remove its `crc32`'

function* sealed(
  index: PetIndex,
  hasJournal: boolean,
  end: (checksum: string) => void,
): Generator<Buffer> {
  let sum = 0
  let text = ''
  for (const next of textsOf(index)) {
    text += next
    if (text.length < PIECE) continue
    yield add(text)
    text = ''
  }
  yield add(hasJournal ? `${text},"journal":true` : text)
  yield add(`,"crc32":"${digits(sum)}"}\n`)
  end(digits(sum))

  function add(text: string): Buffer {
    const bytes = Buffer.from(text)
    sum = crc32(bytes, sum)
    return bytes
  }
}

/** In characters: serialized in well below a millisecond. */
const PIECE = 65_536

/** In bytes, but for the checksum. */
export function lengthOf(index: PetIndex): number {
  let length = 0
  for (const text of textsOf(index)) length += Buffer.byteLength(text)
  return length
}

function* textsOf(index: PetIndex): Generator<string> {
  const { pets, nextId, idempotencyKeys } = index.dump()
  yield* listOf('{"pets":[', pets, petToJson)
  yield `,"nextId":${nextId}`
  if (idempotencyKeys) yield* listOf(',"idempotencyKeys":[', idempotencyKeys, keyToJson)
}

function* listOf<T>(start: string, items: Iterable<T>, toJson: (item: T) => string) {
  let before = `${start}\n`
  for (const item of items) {
    yield before + toJson(item)
    before = ',\n'
  }
  yield before === ',\n' ? '\n]' : `${start}]`
}

export function keyToJson(used: UsedKey): string {
  const { scope, idempotencyKey, fingerprint, expiresAt, petId } = used
  return JSON.stringify({ scope, idempotencyKey, fingerprint, expiresAt, petId })
}
