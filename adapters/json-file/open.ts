import { basename, dirname, join } from 'node:path'
import { hasMethods, isFunction, type Rules, readOptions } from '../../src/options.js'
import type { PetSnapshot } from '../../src/ports.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import { type Disk, isMissing, NODE_DISK } from './disk.js'
import { documentFile } from './document.js'
import { createJournal, replayJournal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import { type Lock, takeLock } from './lock.js'
import { createStorage, type JsonFileStorage, type WhenIdle } from './storage.js'

export interface JsonFileOptions {
  /**
   * Runs a task when nothing was inserted for a while; the function it gives back calls that off.
   * @default a second later, by a timer that keeps no process alive
   */
  readonly whenIdle?: WhenIdle
  /** @default that of node:fs */
  readonly disk?: Disk
}

/**
 * Pets in a JSON document that people can read and write, at a cost per insert that does not grow
 * with it. An insert is synced to a journal beside the document before it resolves. The journal is
 * compacted into the document when it is idle, when it has outgrown it, and on `close`. Reads are
 * answered from memory. A missing file is created.
 *
 * @throws JsonFileError when another process uses the file, or it does not hold such a document
 */
export async function jsonFileStorage(
  path: string,
  options: JsonFileOptions = {},
): Promise<JsonFileStorage> {
  const { whenIdle, disk } = readOptions(options, DEFAULTS, RULES)
  try {
    const file = await locate(disk, path)
    const lock = await takeLock(disk, file.path)
    return await openLocked(disk, file, lock, whenIdle).catch(async error => {
      await lock.release()
      throw error
    })
  } catch (error) {
    if (error instanceof JsonFileError) throw error
    throw new JsonFileError(path, `cannot be opened: ${(error as Error).message}`, { cause: error })
  }
}

async function openLocked(
  disk: Disk,
  file: Location,
  lock: Lock,
  whenIdle: WhenIdle,
): Promise<JsonFileStorage> {
  const { Low } = await import('lowdb')
  const content = documentFile(disk, file.path, file.mode)
  const document = new Low<PetSnapshot>(content, { pets: [], nextId: 1 })
  await document.read()
  const index = indexOf(file.path, document.data)
  const journalPath = `${file.path}.journal`
  const journaled = await replayJournal(disk, journalPath, index)

  // Now everything is known to be in order. A journal that was left over is not written to: the
  // process that left it may live where this one cannot see it.
  document.data = index.dump()
  lock.check()
  if (journaled || content.length === 0) await document.write()
  if (journaled) await disk.unlink(journalPath)
  await disk.unlink(`${file.path}.tmp`).catch(() => {})
  const journal = createJournal(disk, journalPath, file.mode, lock)
  const parts = { disk, path: file.path, document, content, journal, lock }
  return createStorage(parts, index, whenIdle)
}

interface Location {
  readonly path: string
  readonly mode: number
}

/** By its real path, so that all its names share one lock, and its rights are kept. */
async function locate(disk: Disk, path: string): Promise<Location> {
  try {
    const real = await disk.realpath(path)
    return { path: real, mode: (await disk.stat(real)).mode & 0o777 }
  } catch (error) {
    if (!isMissing(error)) throw error
    return { path: join(await disk.realpath(dirname(path)), basename(path)), mode: 0o666 }
  }
}

function indexOf(path: string, snapshot: PetSnapshot): PetIndex {
  try {
    return createPetIndex(snapshot)
  } catch (cause) {
    throw new JsonFileError(path, `cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function afterASecond(task: () => void): () => void {
  const timer = setTimeout(task, 1_000)
  timer.unref()
  return () => clearTimeout(timer)
}

const DEFAULTS = { whenIdle: afterASecond, disk: NODE_DISK }

const RULES: Rules<JsonFileOptions> = {
  whenIdle: isFunction,
  disk: hasMethods(...Object.keys(NODE_DISK)),
}
