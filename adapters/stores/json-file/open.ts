import { join } from 'node:path'
import { Low } from 'lowdb'
import {
  check,
  hasMethods,
  isFunction,
  isText,
  type OptionsOf,
  settingsOf,
  typed,
  withDefault,
} from '../../../src/lib/check-options.js'
import { clearTimeout, setTimeout } from '../../platform.js'
import { notify } from '../../warnings.js'
import { type Disk, NODE_DISK } from '../kit/disk.js'
import { MOUNTED, refuseUnusable, storePathOf, syncFolder } from '../kit/durable-files.js'
import { durableStorage } from '../kit/durable-storage.js'
import { openAtUse } from '../kit/open-at-use.js'
import { createPetIndex, type PetIndex } from '../kit/pet-index.js'
import { documentFile } from './document.js'
import { createJournal, removeJournal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import { type Lock, takeLock } from './lock.js'
import { readJournal } from './read-journal.js'
import { openShared, type Report } from './share-open-files.js'
import { createStorage, type JsonFileStorage, type WhenIdle } from './storage.js'

const CALLS = Object.keys(NODE_DISK).filter(name => name !== 'pid')
export const JSON_FILE_OPTIONS = {
  /** Runs a task when idle, and returns a function that cancels it. @default an unref'd timer of one second */
  whenIdle: withDefault(typed<WhenIdle>(isFunction), afterASecond),
  /**
   * Receives errors in the background: a failed compaction, which is retried; a wrong checksum of
   * the document; an unfinished write that was dropped. @default a process warning
   */
  onError: withDefault(typed<(error: JsonFileError) => void>(isFunction), error =>
    process.emitWarning(error),
  ),
  /** The file system calls to use. @default node:fs */
  disk: withDefault(hasMethods<Disk>(...CALLS), NODE_DISK),
}
/**
 * @example
 * import { jsonFileStorage } from 'animal-adoption-store/json-file'
 *
 * const storage = jsonFileStorage('pets.json', { onError: error => console.error(error.message) })
 * await storage.close()
 */
export interface JsonFileOptions extends OptionsOf<typeof JSON_FILE_OPTIONS> {}

/**
 * Stores pets in a JSON document that people can read and edit. An insert is synced to a journal
 * beside it before it resolves; a compaction writes the document after a quiet period, when the
 * journal has outgrown it, and on `close`. The first call opens the file, and creates a missing one;
 * calls reject with a `JsonFileError` while another process uses it, or if it is no such document.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { jsonFileStorage } from 'animal-adoption-store/json-file'
 *
 * const storage = jsonFileStorage('pets.json')
 * await createStore({ storage, apiKeys: {} }).createPet({ name: 'Rex', categoryId: 1 })
 * await storage.close()
 */
export function jsonFileStorage(path: string, options?: JsonFileOptions): JsonFileStorage {
  const { whenIdle, onError, disk } = settingsOf(JSON_FILE_OPTIONS, options)
  check('path', path, isText)
  const report = (error: JsonFileError) => notify('onError', onError, error)
  const open = (report: Report) =>
    locked(disk, path, async (real, lock) => {
      const { content, document, hasJournal, unfinished } = await load(disk, real, lock, report)
      if (unfinished) report(unfinished)
      if (hasJournal || content.id === undefined) await document.write()
      if (hasJournal) await removeJournal(disk, journalOf(real), lock)
      // The last process may have died between a rename and its sync.
      else await syncFolder(disk, real)
      const journal = createJournal(disk, journalOf(real), real, lock)
      return createStorage({ path: real, document, content, journal, lock, report, whenIdle })
    })
  const isShared = !options?.disk && !options?.whenIdle
  const openOnce = async () => (isShared ? openShared(path, open, report) : open(report))
  return durableStorage(openAtUse(openOnce, () => new JsonFileError(path, 'is closed')))
}

/** Reads a document and its journal, and changes neither. `notes` are the remains of a crash. */
export async function readJsonFile(path: string, disk = NODE_DISK) {
  return locked(disk, path, async (real, lock) => {
    const problems: string[] = []
    const report = ({ message }: JsonFileError) => void problems.push(message)
    const { content, document, unfinished } = await load(disk, real, lock, report)
    if (content.id === undefined) problems.push(`${real} is missing; put it back`)
    await lock.release()
    const notes = unfinished ? [unfinished.message] : []
    return { snapshot: document.data.dump(), problems, notes }
  })
}

async function load(disk: Disk, path: string, lock: Lock, report: (error: JsonFileError) => void) {
  const content = documentFile(disk, path, lock, report)
  // All state is lowdb's data: one index, read and written by our adapter.
  const document = new Low<PetIndex>(content, createPetIndex())
  await document.read()
  const left = await readJournal(disk, journalOf(path), path, content, document.data)
  return { content, document, ...left }
}

/** Takes the lock of a file for the result of `use`; if that throws, releases it. */
async function locked<T>(
  disk: Disk,
  path: string,
  use: (real: string, lock: Lock) => Promise<T>,
): Promise<T> {
  const refuse = (reason: string, options?: ErrorOptions) =>
    new JsonFileError(path, reason, options)
  try {
    const real = await storePathOf(disk, path, journalOf(''), refuse)
    const lock = await takeLock(disk, real)
    try {
      await refuseUnusable(disk, real, refuse)
      await refuseMounted(disk, real, lock, refuse)
      return await use(real, lock)
    } catch (error) {
      await lock.release()
      throw error
    }
  } catch (error) {
    if (error instanceof JsonFileError) throw error
    throw refuse(`cannot be opened: ${(error as Error).message}`, { cause: error })
  }
}

/** A bind-mounted file cannot be hard-linked (link(2), EXDEV), nor replaced by rename. */
async function refuseMounted(
  disk: Disk,
  path: string,
  { folder }: Lock,
  refuse: (reason: string) => Error,
): Promise<void> {
  const name = join(folder, 'link')
  try {
    await disk.link(path, name)
    await disk.unlink(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EXDEV') throw refuse(MOUNTED)
  }
}

function journalOf(path: string): string {
  return `${path}.journal`
}

function afterASecond(task: () => void): () => void {
  const timer = setTimeout(task, 1_000)
  timer.unref()
  return () => clearTimeout(timer)
}
