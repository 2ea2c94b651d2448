import fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/** Every file system call that this storage makes, so that a test can make each of them fail. */
export interface Disk {
  open(path: string, flags: string, mode?: number): Promise<number>
  read(
    file: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }>
  write(
    file: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }>
  /** For a few bytes: they usually go to the page cache only, which is faster than a thread. */
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
  fchmod(file: number, mode: number): Promise<void>
  fchown(file: number, uid: number, gid: number): Promise<void>
  fstat(file: number, options: { bigint: true }): Promise<FileStats>
  close(file: number): Promise<void>
  readFile(path: string): Promise<Buffer>
  stat(path: string, options: { bigint: true }): Promise<FileStats>
  lstat(path: string): Promise<unknown>
  access(path: string, mode: number): Promise<void>
  realpath(path: string): Promise<string>
  copyFile(from: string, to: string, mode: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  mkdir(path: string): Promise<unknown>
  rmdir(path: string): Promise<void>
  readdir(path: string): Promise<string[]>
  /** Names and numbers of open files are in memory, so these three do not block on the disk. */
  existsSync(path: string): boolean
  statSync(path: string, options: { bigint: true; throwIfNoEntry: false }): FileStats | undefined
  readlinkSync(path: string): string
}

export type FileStats = Pick<
  fs.BigIntStats,
  'dev' | 'ino' | 'mode' | 'nlink' | 'uid' | 'gid' | 'size' | 'mtimeNs' | 'isFile' | 'isDirectory'
>

export const NODE_DISK: Disk = {
  open: promisify(fs.open),
  read: promisify(fs.read),
  write: promisify(fs.write),
  writeSync: fs.writeSync,
  fdatasync: promisify(fs.fdatasync),
  fsync: promisify(fs.fsync),
  ftruncate: promisify(fs.ftruncate),
  fchmod: promisify(fs.fchmod),
  fchown: promisify(fs.fchown),
  fstat: promisify<number, { bigint: true }, fs.BigIntStats>(fs.fstat),
  close: promisify(fs.close),
  readFile: promisify(fs.readFile),
  stat: promisify<string, { bigint: true }, fs.BigIntStats>(fs.stat),
  lstat: promisify(fs.lstat),
  access: promisify(fs.access),
  realpath: promisify(fs.realpath),
  copyFile: promisify(fs.copyFile),
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  mkdir: promisify(fs.mkdir),
  rmdir: promisify(fs.rmdir),
  readdir: promisify(fs.readdir),
  existsSync: fs.existsSync,
  statSync: fs.statSync,
  readlinkSync: fs.readlinkSync,
}

/** Reads up to `length` bytes; fewer only at the end of the file. */
export async function readAt(
  disk: Disk,
  file: number,
  position: number,
  length: number,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await disk.read(file, bytes, done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

/** Writes all bytes, however few the system takes at a time. */
export async function writeAt(
  disk: Disk,
  file: number,
  position: number,
  bytes: Uint8Array,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const left = bytes.length - done
    done += (await disk.write(file, bytes, done, left, position + done)).bytesWritten
  }
}

/** Makes a created, renamed or removed name durable. Windows has no such call. */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await disk.open(dirname(path), 'r')
  try {
    await disk.fsync(folder)
  } finally {
    await disk.close(folder)
  }
}

/**
 * Gives a new file the mode and owner of the document. Only root can give a file away; for any
 * other process the file stays its own.
 */
export async function keepOwner(disk: Disk, file: number, like: FileStats): Promise<void> {
  const { uid, gid } = await disk.fstat(file, { bigint: true })
  if (uid !== like.uid || gid !== like.gid) {
    await disk.fchown(file, Number(like.uid), Number(like.gid)).catch(error => {
      if (error.code !== 'EPERM') throw error
    })
  }
  await disk.fchmod(file, Number(like.mode) & 0o7777)
}
