import fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/** Every call to the file system that this storage makes, so that a test can fail each of them. */
export interface Disk {
  open(path: string, flags: string, mode?: number): Promise<number>
  write(
    file: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }>
  /** For the few bytes of a journal: they go to the system's memory, and the sync waits for the disk. */
  writeSync(
    file: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): number
  fdatasync(file: number): Promise<void>
  fsync(file: number): Promise<void>
  ftruncate(file: number, length: number): Promise<void>
  close(file: number): Promise<void>
  readFile(path: string): Promise<Buffer>
  stat(path: string): Promise<{ mode: number }>
  realpath(path: string): Promise<string>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  mkdir(path: string): Promise<unknown>
  rmdir(path: string): Promise<void>
  readdir(path: string): Promise<string[]>
  /** Of names and files in use, which no system goes to the disk for: hence not asynchronous. */
  existsSync(path: string): boolean
  fstatSync(file: number): { nlink: number }
}

export const NODE_DISK: Disk = {
  open: promisify(fs.open),
  write: promisify(fs.write),
  writeSync: fs.writeSync,
  fdatasync: promisify(fs.fdatasync),
  fsync: promisify(fs.fsync),
  ftruncate: promisify(fs.ftruncate),
  close: promisify(fs.close),
  readFile: promisify(fs.readFile),
  stat: promisify(fs.stat),
  realpath: promisify(fs.realpath),
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  mkdir: promisify(fs.mkdir),
  rmdir: promisify(fs.rmdir),
  readdir: promisify(fs.readdir),
  existsSync: fs.existsSync,
  fstatSync: fs.fstatSync,
}

/**
 * Replaces a file, or rejects and leaves it as it is; there is no moment at which it is half
 * written. Only where the last step fails, the folder's sync, the file is replaced all the same.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  chunks: Iterable<string>,
  mode: number,
): Promise<number> {
  const temporary = `${path}.tmp`
  let length = 0
  try {
    const file = await disk.open(temporary, 'w', mode)
    try {
      for (const chunk of chunks) {
        const bytes = Buffer.from(chunk)
        for (let done = 0; done < bytes.length; ) {
          const left = bytes.length - done
          done += (await disk.write(file, bytes, done, left, length + done)).bytesWritten
        }
        length += bytes.length
      }
      await disk.fsync(file)
    } finally {
      await disk.close(file)
    }
    await disk.rename(temporary, path)
  } catch (error) {
    await disk.unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(disk, path)
  return length
}

/** Makes it last that a file was created, renamed or removed. Windows knows no such call. */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await disk.open(dirname(path), 'r')
  try {
    await disk.fsync(folder)
  } finally {
    await disk.close(folder)
  }
}

export async function readIfThere(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    return await disk.readFile(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
