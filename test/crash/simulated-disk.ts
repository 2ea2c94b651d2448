import { basename, dirname } from 'node:path'
import type { Disk, FileStats } from '../../adapters/stores/kit/disk.js'
import { type Content, createContent } from './content.js'
import type { Random } from './random.js'

/** Requests to a disk, in order; a test may add marks of its own. */
export type Entry<Mark> =
  | {
      readonly kind: 'write'
      readonly file: File
      readonly position: number
      readonly bytes: Buffer
    }
  | { readonly kind: 'truncate'; readonly file: File; readonly length: number }
  | { readonly kind: 'link'; readonly path: string; readonly file: File }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string; readonly file: File }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'sync'; readonly target: File | string }
  /** After it, the system takes what was written before for written. */
  | { readonly kind: 'failed sync'; readonly target: File | string }
  | { readonly kind: 'mark'; readonly mark: Mark }

/** A file by identity: it keeps its content while its names come and go. */
export interface File {
  readonly number: bigint
  content: Content
}

export interface SimulatedDisk<Mark> {
  readonly log: readonly Entry<Mark>[]
  mark(mark: Mark): void
  /** The disk as a process sees it. Every process looks dead to the others. */
  as(pid: number): Disk
}

/**
 * A POSIX file system in memory that records every change. Its calls take turns in random order, as
 * the threads of a real one do.
 */
export function simulatedDisk<Mark>(
  begin: Readonly<Record<string, Buffer>>,
  random: Random,
): SimulatedDisk<Mark> {
  const log: Entry<Mark>[] = []
  const files = new Map<string, File>()
  const folders = new Set(['/', '/data'])
  const open = new Map<number, File | string>()
  let lastNumber = 0
  for (const [name, content] of Object.entries(begin)) {
    const path = `/data/${name}`
    const file = create(path, 'w')
    file.content = createContent(content)
    log.push({ kind: 'write', file, position: 0, bytes: content }, { kind: 'sync', target: file })
  }
  log.push({ kind: 'sync', target: '/data' })

  return { log, mark: mark => void log.push({ kind: 'mark', mark }), as: diskOf }

  function diskOf(pid: number): Disk {
    const calls: Disk = {
      pid,
      async open(path, flags) {
        const number = ++lastNumber
        if (folders.has(path)) open.set(number, path)
        else open.set(number, files.get(path) ?? create(path, flags))
        if (flags.startsWith('w')) truncate(fileOf(number), 0)
        return number
      },
      async write(file, bytes, offset, length, position) {
        return { bytesWritten: calls.writeSync(file, bytes, offset, length, position) }
      },
      writeSync(file, bytes, offset, length, position) {
        const written = Buffer.from(bytes.subarray(offset, offset + length))
        log.push({ kind: 'write', file: fileOf(file), position, bytes: written })
        fileOf(file).content.write(position, written)
        return length
      },
      async fdatasync(file) {
        log.push({ kind: 'sync', target: open.get(file) as File })
      },
      async fsync(file) {
        log.push({ kind: 'sync', target: open.get(file) as File })
      },
      async ftruncate(file, length) {
        truncate(fileOf(file), length)
      },
      async fchmod() {},
      async fchown() {},
      async fstat(file) {
        return statsOf(fileOf(file))
      },
      async close(file) {
        open.delete(file)
      },
      async readFile(path) {
        return Buffer.from(existing(path).content.bytes())
      },
      async stat(path) {
        return statsOf(existing(path))
      },
      async lstat(path) {
        return statsOf(existing(path))
      },
      async access() {},
      async realpath(path) {
        if (!files.has(path) && !folders.has(path)) throw failure('ENOENT', path)
        return path
      },
      async link(from) {
        throw failure('EPERM', from)
      },
      async rename(from, to) {
        if (!folders.has(dirname(to))) throw failure('ENOENT', to)
        if (folders.has(from)) return renameFolder(from, to)
        const file = existing(from)
        files.delete(from)
        files.set(to, file)
        log.push({ kind: 'rename', from, to, file })
      },
      async unlink(path) {
        existing(path)
        files.delete(path)
        log.push({ kind: 'unlink', path })
      },
      async mkdir(path) {
        if (folders.has(path)) throw failure('EEXIST', path)
        folders.add(path)
      },
      async rmdir(path) {
        if (!folders.has(path)) throw failure('ENOENT', path)
        if (namesIn(path).length > 0) throw failure('ENOTEMPTY', path)
        folders.delete(path)
      },
      async readdir(path) {
        if (!folders.has(path)) throw failure('ENOENT', path)
        return namesIn(path)
      },
      existsSync: path => files.has(path) || folders.has(path),
      statSync(path) {
        const file = files.get(path)
        return file && statsOf(file)
      },
    }
    return inTurns(calls, random)
  }

  function create(path: string, flags: string): File {
    if (!flags.startsWith('w') || !folders.has(dirname(path))) throw failure('ENOENT', path)
    const file = { number: BigInt(++lastNumber), content: createContent() }
    files.set(path, file)
    log.push({ kind: 'link', path, file })
    return file
  }

  function truncate(file: File, length: number): void {
    if (file.content.bytes().length === length) return
    file.content.resize(length)
    log.push({ kind: 'truncate', file, length })
  }

  function existing(path: string): File {
    const file = files.get(path)
    if (!file) throw failure('ENOENT', path)
    return file
  }

  function fileOf(number: number): File {
    return open.get(number) as File
  }

  function renameFolder(from: string, to: string): void {
    if (folders.has(to) && namesIn(to).length > 0) throw failure('ENOTEMPTY', to)
    const moved = (path: string) => (path === from ? to : path.replace(`${from}/`, `${to}/`))
    for (const folder of [...folders]) {
      if (moved(folder) === folder) continue
      folders.delete(folder)
      folders.add(moved(folder))
    }
    for (const [path, file] of [...files]) {
      if (moved(path) === path) continue
      files.delete(path)
      files.set(moved(path), file)
    }
  }

  function namesIn(folder: string): string[] {
    return [...folders, ...files.keys()]
      .filter(path => dirname(path) === folder && path !== '/')
      .map(path => basename(path))
  }
}

/** Every call waits for a random number of turns before it is made. */
function inTurns(calls: Disk, random: Random): Disk {
  return new Proxy(calls, {
    get(_, name: keyof Disk) {
      const call = calls[name] as (...given: unknown[]) => unknown
      if (name === 'pid' || name.endsWith('Sync')) return call
      return async (...given: unknown[]) => {
        for (let turns = random(4); turns > 0; turns--) await null
        return call(...given)
      }
    },
  })
}

function statsOf({ number, content }: File): FileStats {
  return {
    dev: 1n,
    ino: number,
    mode: 0o644n,
    nlink: 1n,
    uid: 0n,
    gid: 0n,
    size: BigInt(content.bytes().length),
    mtimeNs: 0n,
    isFile: () => true,
    isDirectory: () => false,
  }
}

function failure(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}
