import { join } from 'node:path'
import { ifPresent } from '../storage/missing-file.js'
import { isSameFile } from '../storage/same-file.js'
import { type Disk, type FileStats, keepOwner, syncFolder, writeAt } from './disk.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'

/** Batches that the document may lack. The file exists only while it holds any. */
export interface Journal {
  /** How much is durable, in bytes. */
  readonly length: number
  /** Resolves when the batch is durable. When it rejects, `truncate` is due. */
  append(batch: Uint8Array): Promise<void>
  /** Whether a restart would find this file at its path. */
  isInPlace(): boolean
  /** Removes what a failed `append` may have left. */
  truncate(): Promise<void>
  /** Removes the file for good. */
  remove(): Promise<void>
  /** Closes the file and leaves it where it is. */
  close(): Promise<void>
}

export function createJournal(disk: Disk, path: string, document: string, lock: Lock): Journal {
  let file: number | undefined
  let opened: FileStats | undefined
  let length = 0

  return {
    get length() {
      return length
    },
    async append(batch) {
      file ??= await create()
      // A rejected batch must not be read after a restart.
      lock.check()
      if (batch.length > LONGEST_SYNC_WRITE) await writeAt(disk, file, length, batch)
      else writeAtOnce(file, batch)
      await disk.fdatasync(file)
      // Checked again: a process that takes over from now on reads this batch.
      lock.check()
      if (!isInPlace()) throw new JsonFileError(path, 'was removed or replaced')
      length += batch.length
    },
    isInPlace,
    async truncate() {
      if (file === undefined) {
        // Creating it failed, but its name may be there.
        await removeJournal(disk, path, lock)
        return
      }
      await disk.ftruncate(file, length)
      await disk.fsync(file)
    },
    async remove() {
      if (file === undefined) return
      const watched = opened
      // From now on a missing file is expected.
      opened = undefined
      try {
        await takeAway(disk, path, lock)
      } catch (error) {
        opened = watched
        throw error
      }
      await close()
      await discard(disk, path, lock)
    },
    close,
  }

  function isInPlace(): boolean {
    if (opened === undefined) return true
    return isSameFile(disk.statSync(path, { bigint: true, throwIfNoEntry: false }), opened)
  }

  async function close(): Promise<void> {
    if (file === undefined) return
    const open = file
    file = undefined
    opened = undefined
    length = 0
    await disk.close(open)
  }

  function writeAtOnce(file: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      done += disk.writeSync(file, bytes, done, bytes.length - done, length + done)
    }
  }

  async function create(): Promise<number> {
    lock.check()
    const prepared = join(lock.folder, 'journal')
    const created = await disk.open(prepared, 'w')
    try {
      const like = await ifPresent(disk.stat(document, { bigint: true }))
      if (like) await keepOwner(disk, created, like)
      opened = await disk.fstat(created, { bigint: true })
      await disk.rename(prepared, path)
      await syncFolder(disk, path)
      return created
    } catch (error) {
      opened = undefined
      await disk.close(created)
      await disk.unlink(prepared).catch(() => {})
      throw error
    }
  }
}

/** Removes a journal that another process may have left. */
export async function removeJournal(disk: Disk, path: string, lock: Lock): Promise<void> {
  if (await takeAway(disk, path, lock)) await discard(disk, path, lock)
}

/** Whether there was a journal. @throws JsonFileError without the lock */
async function takeAway(disk: Disk, path: string, lock: Lock): Promise<boolean> {
  lock.check()
  const isRemoved = await ifPresent(disk.rename(path, removedPath(lock)).then(() => true))
  // Either there is no journal, or the lock was lost meanwhile.
  if (!isRemoved) lock.check()
  return isRemoved ?? false
}

async function discard(disk: Disk, path: string, lock: Lock): Promise<void> {
  await disk.unlink(removedPath(lock))
  await syncFolder(disk, path)
}

function removedPath(lock: Lock): string {
  return join(lock.folder, 'removed')
}

/**
 * In bytes. A write of this size to the page cache takes a few microseconds unless the system
 * throttles writers; a larger one often takes as long as the disk, and reads would wait for it.
 */
const LONGEST_SYNC_WRITE = 65_536
