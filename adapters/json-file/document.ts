import { constants } from 'node:fs'
import { join } from 'node:path'
import type { Adapter } from 'lowdb'
import { decodeUtf8 } from '../../src/lib/utf8.js'
import { petToJson } from '../../src/pets/pet.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import { ifPresent } from '../storage/missing-file.js'
import { isSameFile } from '../storage/same-file.js'
import { createChecksum, createSeal, endWith } from './checksum.js'
import { type Disk, type FileStats, keepOwner, readAt, syncFolder, writeAt } from './disk.js'
import { JsonFileError } from './json-file-error.js'
import { keyToJson } from './key-line.js'
import type { Lock } from './lock.js'
import { type OwnLayout, readOwnLayout } from './own-layout.js'

/**
 * How lowdb reads and writes the document: its data is the index of all pets, and the file has a
 * line per pet. A write replaces the file, or rejects and leaves it as it is.
 */
export interface DocumentFile extends Adapter<PetIndex> {
  /** What was last read or written, in bytes. */
  readonly length: number
  /** Whether the file is still the one that was last read or written. */
  isUnchanged(): Promise<boolean>
  /**
   * Whether the path still has that file, edited or not. A copy with its size and time of change counts
   * too: some file systems, such as FAT, number a file that is not open anew.
   */
  isInPlace(): boolean
}

/** @param report receives what another program, or the disk, has done to the document */
export function documentFile(
  disk: Disk,
  path: string,
  lock: Lock,
  report: (error: JsonFileError) => void,
): DocumentFile {
  let known: FileStats | undefined
  /** What a rename is putting in its place, or has: a call that fails may have done its work. */
  let next: FileStats | undefined

  return {
    get length() {
      return Number(known?.size ?? 0n)
    },
    async isUnchanged() {
      return isOurs(await ifPresent(disk.stat(path, { bigint: true })), isSame)
    },
    isInPlace() {
      const found = disk.statSync(path, { bigint: true, throwIfNoEntry: false })
      return isOurs(found, (found, own) => isSameFile(found, own) || isSameTime(found, own))
    },
    /** @throws JsonFileError when the content is not a document */
    async read() {
      const file = await ifPresent(disk.open(path, 'r'))
      if (file === undefined) return null
      try {
        known = await disk.fstat(file, { bigint: true })
        const { index, isChanged } = await parse(disk, path, file, Number(known.size))
        if (isChanged) report(new JsonFileError(path, CHANGED))
        return index
      } finally {
        await disk.close(file)
      }
    },
    async write(index) {
      lock.check()
      const prepared = join(lock.folder, 'document')
      try {
        const written = await prepare(prepared, index)
        await keepForeignVersion()
        next = written
        // Without the lock its folder has another name, so this fails.
        await disk.rename(prepared, path)
        known = written
      } catch (error) {
        await disk.unlink(prepared).catch(() => {})
        throw error
      }
      await syncFolder(disk, path)
    },
  }

  async function prepare(prepared: string, index: PetIndex): Promise<FileStats> {
    const file = await disk.open(prepared, 'w')
    try {
      const like = await ifPresent(disk.stat(path, { bigint: true }))
      if (like) await keepOwner(disk, file, like)
      let length = 0
      const checksum = createChecksum()
      for (const text of piecesOf(index)) {
        const bytes = Buffer.from(text)
        checksum.add(bytes)
        await writeAt(disk, file, length, bytes)
        length += bytes.length
      }
      await writeAt(disk, file, length, Buffer.from(endWith(checksum)))
      await disk.fsync(file)
      return await disk.fstat(file, { bigint: true })
    } finally {
      await disk.close(file)
    }
  }

  /** What another program saved at the path is copied, never overwritten. */
  async function keepForeignVersion(): Promise<void> {
    const found = await ifPresent(disk.stat(path, { bigint: true }))
    if (next && found && isSame(found, next)) known = next
    if (found === undefined || isOurs(found, isSame)) return
    if (!found.isFile()) throw unsavable(found)
    lock.check()
    const copy = await copyAside()
    report(new JsonFileError(path, `was changed by another program; its version is now ${copy}`))
  }

  function unsavable(found: FileStats): JsonFileError {
    const what = found.isDirectory() ? 'a folder' : 'not a regular file'
    const fix = 'move that away and put the document back, as the journal has only the last animals'
    return new JsonFileError(path, `cannot be saved: it is ${what} now; ${fix}`)
  }

  async function copyAside(): Promise<string> {
    for (let number = 1; ; number++) {
      const copy = `${path}.conflict-${number}`
      try {
        await disk.copyFile(path, copy, constants.COPYFILE_EXCL)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
        throw error
      }
      const file = await disk.open(copy, 'r+')
      try {
        await disk.fsync(file)
      } finally {
        await disk.close(file)
      }
      return copy
    }
  }

  function isOurs(found: FileStats | undefined, isAs: typeof isSame): boolean {
    if (found === undefined) return known === undefined
    return [known, next].some(own => own && isAs(found, own))
  }
}

function isSame(found: FileStats, own: FileStats): boolean {
  return isSameFile(found, own) && isSameTime(found, own)
}

function isSameTime(found: FileStats, own: FileStats): boolean {
  return found.size === own.size && found.mtimeNs === own.mtimeNs
}

async function parse(disk: Disk, path: string, file: number, length: number): Promise<OwnLayout> {
  if (length === 0) {
    throw new JsonFileError(path, 'is empty; remove it to start without animals')
  }
  try {
    const own = await readOwnLayout(disk, file)
    if (own) return own
    const { parseDocument } = await import('./parse-document.js')
    const bytes = await readAt(disk, file, 0, length)
    const { isSealed, ...snapshot } = await parseDocument(decodeUtf8(bytes))
    const seal = createSeal()
    seal.add(bytes)
    return { index: createPetIndex(snapshot), isChanged: isSealed && !seal.isIntact() }
  } catch (cause) {
    const reason = (cause as Error).message.replaceAll('\n', ' ')
    throw new JsonFileError(path, `cannot be read: ${reason}`, { cause })
  }
}

/** The text of a document without its end, in pieces, so that another task can insert between two of them. */
function* piecesOf(index: PetIndex): Generator<string> {
  let piece = ''
  for (const text of textsOf(index)) {
    if (piece.length + text.length > PIECE) {
      yield piece
      piece = ''
    }
    piece += text
  }
  yield piece
}

/** Pets that are inserted meanwhile are left out, and so are their keys. */
function* textsOf(index: PetIndex): Generator<string> {
  const nextId = index.nextId()
  let before = '{"pets":[\n'
  for (const pet of petsBelow(index, nextId)) {
    yield before + petToJson(pet)
    before = ',\n'
  }
  yield before === ',\n' ? '\n]' : '{"pets":[]'
  yield `,"nextId":${nextId}`
  before = ',"idempotencyKeys":[\n'
  for (const used of index.usedKeys()) {
    if (used.petId >= nextId) continue
    yield before + keyToJson(used)
    before = ',\n'
  }
  if (before === ',\n') yield '\n]'
}

function* petsBelow(index: PetIndex, nextId: number) {
  for (let after = 0; ; ) {
    const page = index.list({ limit: PETS_PER_PAGE, after })
    for (const pet of page) {
      if (pet.id >= nextId) return
      yield pet
    }
    const last = page.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

const CHANGED =
  'has changed since it was saved: its checksum does not match. Unless somebody edited it, it is damaged; ' +
  'to keep an edit, remove its `crc32`'

/** In characters. Serializing them takes well below a millisecond, then other tasks get a turn. */
const PIECE = 65_536
const PETS_PER_PAGE = 1_000
