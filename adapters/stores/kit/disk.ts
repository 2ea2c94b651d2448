import fs from 'node:fs'
import { promisify } from 'node:util'

/** Every file system call of a storage, so that a test can make each of them fail. */
export interface Disk {
  readonly pid: number
  open(path: string, flags: string, mode?: number): Promise<number>
  write(...given: Parameters<Disk['writeSync']>): Promise<{ bytesWritten: number }>
  /** Into the page cache: faster than a thread. */
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
  link(from: string, to: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  mkdir(path: string): Promise<unknown>
  rmdir(path: string): Promise<void>
  readdir(path: string): Promise<string[]>
  /** Names are in memory, so these two do not block on the disk. */
  existsSync(path: string): boolean
  statSync(path: string, options: { bigint: true; throwIfNoEntry: false }): FileStats | undefined
}

export type FileStats = Pick<
  fs.BigIntStats,
  'dev' | 'ino' | 'mode' | 'nlink' | 'uid' | 'gid' | 'size' | 'mtimeNs' | 'isFile' | 'isDirectory'
>

export const NODE_DISK: Disk = {
  pid: process.pid,
  open: promisify(fs.open),
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
  link: promisify(fs.link),
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  mkdir: promisify(fs.mkdir),
  rmdir: promisify(fs.rmdir),
  readdir: promisify(fs.readdir),
  existsSync: fs.existsSync,
  statSync: fs.statSync,
}
