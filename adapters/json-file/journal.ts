import { petToJson } from '../../src/json.js'
import type { Pet } from '../../src/model.js'
import { decodeUtf8 } from '../../src/utf8.js'
import type { PetIndex } from '../memory.js'
import { type Disk, readIfThere, syncFolder } from './disk.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'
import { parsePetLine } from './pet-line.js'

/** What was inserted since the document was written, a line per pet; there is no file without any. */
export interface Journal {
  /** Of what is durable, in bytes. */
  readonly length: number
  /** Resolves when the text is durable. When it rejects, `truncate` is due. */
  append(text: string): Promise<void>
  /** Whether the file is still there to be found after a restart. */
  isLinked(): boolean
  /** Removes what an `append` that failed may have left. */
  truncate(): Promise<void>
  /** Removes the file, for good. */
  remove(): Promise<void>
  /** Lets go of the file. */
  close(): Promise<void>
}

/** A journal whose file is created when it is needed, and belongs to who has the lock. */
export function createJournal(
  disk: Disk,
  path: string,
  mode: number,
  lock: Pick<Lock, 'check'>,
): Journal {
  let file: number | undefined
  let length = 0

  const journal: Journal = {
    get length() {
      return length
    },
    async append(text) {
      file ??= await create()
      const end = writeAt(file, text, length)
      await disk.fdatasync(file)
      // Asked after the write: whoever takes over from now on reads these lines.
      lock.check()
      if (!journal.isLinked()) throw new JsonFileError(path, 'was removed')
      length = end
    },
    isLinked: () => file === undefined || disk.fstatSync(file).nlink > 0,
    async truncate() {
      if (file === undefined) return
      await disk.ftruncate(file, length)
      await disk.fsync(file)
    },
    async remove() {
      if (file === undefined) return
      lock.check()
      await disk.unlink(path)
      await journal.close()
      await syncFolder(disk, path)
    },
    async close() {
      if (file === undefined) return
      const open = file
      file = undefined
      length = 0
      await disk.close(open)
    },
  }
  return journal

  function writeAt(file: number, text: string, position: number): number {
    const bytes = Buffer.from(text)
    let done = 0
    while (done < bytes.length) {
      done += disk.writeSync(file, bytes, done, bytes.length - done, position + done)
    }
    return position + done
  }

  async function create(): Promise<number> {
    const created = await disk.open(path, 'w', mode)
    try {
      await syncFolder(disk, path)
    } catch (error) {
      await disk.close(created)
      await disk.unlink(path).catch(() => {})
      throw error
    }
    return created
  }
}

/**
 * Adds what a journal holds and the index does not. A last line without its end was never
 * acknowledged and is left out. False when there is no journal.
 *
 * @throws JsonFileError naming the line that is damaged
 */
export async function replayJournal(disk: Disk, path: string, index: PetIndex): Promise<boolean> {
  const bytes = await readIfThere(disk, path)
  if (!bytes) return false
  let start = 0
  for (let number = 1; ; number++) {
    const end = bytes.indexOf(NEWLINE, start)
    if (end < 0) return true
    const pet = petOf(bytes.subarray(start, end))
    if (!pet) throw new JsonFileError(path, `is damaged: line ${number} is not a pet`)
    replay(pet, number)
    start = end + 1
  }

  function replay(pet: Pet, number: number): void {
    if (pet.id === index.nextId) {
      index.insert(pet, pet.id)
      return
    }
    const known = index.find(pet.id)
    if (known && petToJson(known) === petToJson(pet)) return
    const reason = `has the pet ${pet.id}, which does not follow from the document`
    throw new JsonFileError(path, `is damaged: line ${number} ${reason}`)
  }
}

const NEWLINE = 0x0a

function petOf(line: Uint8Array): Pet | undefined {
  try {
    return parsePetLine(decodeUtf8(line))
  } catch {
    return undefined
  }
}
