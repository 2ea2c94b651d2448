import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Disk, FileStats } from '../kit/disk.js'
import { ifPresent, isSameFile, keepOwner, syncFolder } from '../kit/durable-files.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'

export type Journal = ReturnType<typeof createJournal>

/** Batches that the document lacks, after an empty batch that names the document. */
export function createJournal(disk: Disk, path: string, document: string, lock: Lock) {
  let file: number | undefined
  let opened: FileStats | undefined
  let length = 0
  let isOurs = false

  return {
    /** Durable bytes; 0 without a file. */
    get length() {
      return length
    },
    /** After a rejection, call `remove`. */
    async begin(documentId: string): Promise<void> {
      lock.check()
      if (disk.existsSync(path)) {
        throw new JsonFileError(path, 'was put there by another program; move it away')
      }
      const prepared = join(lock.folder, 'journal')
      file = await disk.open(prepared, 'w')
      await keepOwner(disk, file, document)
      const batch = encodeBatch('', documentId)
      write(file, batch)
      await disk.fsync(file)
      isOurs = true
      await disk.rename(prepared, path)
      opened = await disk.fstat(file, { bigint: true })
      await syncFolder(disk, path)
      length = batch.length
    },
    /** Resolves once the lines are durable. After a rejection, call `undo`. */
    async append(lines: string, documentId: string): Promise<void> {
      const batch = encodeBatch(lines, documentId)
      lock.check()
      const own = file as number
      write(own, batch)
      await disk.fdatasync(own)
      // A process that took over meanwhile may not have read this batch.
      lock.check()
      if (!isInPlace()) throw new JsonFileError(path, 'was moved, replaced or cut')
      length += batch.length
    },
    isInPlace: () => isInPlace(),
    async undo(): Promise<void> {
      await disk.ftruncate(file as number, length)
      await disk.fsync(file as number)
    },
    remove,
    close,
  }

  function isInPlace(least = length): boolean {
    if (opened === undefined) return true
    const found = disk.statSync(path, { bigint: true, throwIfNoEntry: false })
    return found !== undefined && isSameFile(found, opened) && found.size >= BigInt(least)
  }

  function write(file: number, batch: Buffer): void {
    for (let done = 0; done < batch.length; ) {
      done += disk.writeSync(file, batch, done, batch.length - done, length + done)
    }
  }

  async function remove(): Promise<void> {
    if (isOurs && isInPlace(0)) {
      opened = undefined
      await removeJournal(disk, path, lock)
    }
    isOurs = false
    await close()
  }

  async function close(): Promise<void> {
    const open = file
    file = undefined
    opened = undefined
    length = 0
    if (open !== undefined) await disk.close(open)
  }
}

/** Renames it into the folder of the lock, which fails without the lock. */
export async function removeJournal(disk: Disk, path: string, lock: Lock): Promise<void> {
  lock.check()
  const removed = join(lock.folder, 'removed')
  // Either there is no journal, or the lock was lost meanwhile.
  if (await ifPresent(disk.rename(path, removed).then(() => true))) await disk.unlink(removed)
  else lock.check()
  await syncFolder(disk, path)
}

/** The header has a fixed length, so that it can be read without searching for its end. */
function encodeBatch(text: string, documentId: string): Buffer {
  const lines = Buffer.from(text)
  const header = `${HEADER_START}${digits(crc32(lines))}","bytes":${lines.length},"document":"${documentId}"}`
  return Buffer.concat([Buffer.from(`${header.padEnd(HEADER_LENGTH - 1)}\n`), lines])
}

export function digits(sum: number): string {
  return sum.toString(16).padStart(8, '0')
}

const HEADER_START = '{"crc32":"'
export const HEADER =
  /^\{"crc32":"([0-9a-f]{8})","bytes":(0|[1-9]\d*),"document":"([0-9a-f]{8})"\} *\n$/
export const HEADER_LENGTH = 72
