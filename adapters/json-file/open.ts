import { Low } from 'lowdb'
import { hasMethods, isFunction, type Rules, readOptions } from '../../src/lib/options.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import { locateFile } from '../storage/locate-file.js'
import { type Disk, NODE_DISK, syncFolder } from './disk.js'
import { documentFile } from './document.js'
import { createFiles, type Files } from './files.js'
import { createJournal, removeJournal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import { type Lock, takeLock } from './lock.js'
import { type LeftOut, replayJournals } from './replay.js'
import { createStorage, type JsonFileStorage, type WhenIdle } from './storage.js'

export interface JsonFileOptions {
  /**
   * Runs a task after a quiet period, and returns a function that cancels it.
   * @default an unref'd timer of one second
   */
  readonly whenIdle?: WhenIdle
  /**
   * Receives what fails in the background: a compaction, which is tried again later, or a document
   * that another program changed, whose version is kept. On opening, a document that does not match
   * its checksum, and an unfinished write that a crash left at the end of a journal and that was
   * dropped.
   * @default a process warning
   */
  readonly onError?: (error: JsonFileError) => void
  /**
   * The file system calls to use.
   * @default those of node:fs
   */
  readonly disk?: Disk
}

/**
 * Pets in a JSON document that people can read and edit, at a cost per insert that does not grow
 * with it. An insert is synced to a journal beside the document before it resolves. A compaction
 * writes the document with the pets of the journal: after a quiet period, when the journal has
 * outgrown the document, and on `close`. Reads are answered from memory. A missing file is created.
 *
 * @throws JsonFileError when another process uses the file, or it is not such a document
 */
export async function jsonFileStorage(
  path: string,
  options: JsonFileOptions = {},
): Promise<JsonFileStorage> {
  const { whenIdle, onError, disk } = readOptions(options, DEFAULTS, RULES)
  return locked(disk, path, async (real, lock) =>
    createStorage(real, await openFiles(disk, real, lock, guarded(onError)), whenIdle),
  )
}

/**
 * Takes the lock of a file for what `use` makes of it.
 *
 * @param use receives its real path; if it throws, the lock is released
 * @throws JsonFileError
 */
export async function locked<T>(
  disk: Disk,
  path: string,
  use: (real: string, lock: Lock) => Promise<T>,
): Promise<T> {
  try {
    const real = await locateFile(
      disk,
      path,
      (reason, options) => new JsonFileError(path, reason, options),
    )
    const lock = await takeLock(disk, real)
    try {
      return await use(real, lock)
    } catch (error) {
      await lock.release()
      throw error
    }
  } catch (error) {
    if (error instanceof JsonFileError) throw error
    throw new JsonFileError(path, `cannot be opened: ${(error as Error).message}`, { cause: error })
  }
}

/** The journals of a document. */
export function journalsOf(path: string): readonly [string, string] {
  return [`${path}.journal`, `${path}.journal2`]
}

async function openFiles(
  disk: Disk,
  path: string,
  lock: Lock,
  report: (error: JsonFileError) => void,
): Promise<Files> {
  const content = documentFile(disk, path, lock, report)
  // All state is lowdb's data: one index, read and written by our own adapter.
  const document = new Low<PetIndex>(content, createPetIndex())
  await document.read()
  const journalPaths = journalsOf(path)
  const missing = content.length === 0 ? path : undefined
  const drop = (end: LeftOut) => report(dropped(end))
  const hasJournals = await replayJournals(disk, journalPaths, document.data, drop, missing)

  // All files have been read. Journals are replaced, not continued: the process that left them may still
  // be alive where this one cannot see it.
  if (hasJournals || content.length === 0) await document.write()
  // The last process may have died between a rename and its sync.
  else await syncFolder(disk, path)
  for (const journalPath of journalPaths) await removeJournal(disk, journalPath, lock)
  const [first, second] = journalPaths
  const journals = [
    createJournal(disk, first, path, lock),
    createJournal(disk, second, path, lock),
  ] as const
  return createFiles({ disk, path, document, content, journals, journalPaths, lock, report })
}

function dropped({ path, bytes }: LeftOut): JsonFileError {
  const reason = `ended in ${bytes} bytes of an unfinished write, which were dropped`
  return new JsonFileError(path, `${reason}; they were never acknowledged`)
}

/** A listener that throws must not stop a compaction. */
function guarded<T>(listener: (value: T) => void): (value: T) => void {
  return value => {
    try {
      listener(value)
    } catch {}
  }
}

function afterASecond(task: () => void): () => void {
  const timer = setTimeout(task, 1_000)
  timer.unref()
  return () => clearTimeout(timer)
}

const DEFAULTS = {
  whenIdle: afterASecond,
  onError: (error: JsonFileError) => process.emitWarning(error),
  disk: NODE_DISK,
}

const RULES: Rules<JsonFileOptions> = {
  whenIdle: isFunction,
  onError: isFunction,
  disk: hasMethods(...Object.keys(NODE_DISK)),
}
