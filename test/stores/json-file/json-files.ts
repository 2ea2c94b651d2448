import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { crc32 } from 'node:zlib'
import { type JsonFileOptions, jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import type { Pet } from '../../../src/pets/schema.js'
import { type DiskCall, diskError, watchedDisk } from './disk-faults.js'

/**
 * The output of another process that opens a file with a function of a module: 'opened', or why not. Undefined
 * where this machine does not let it run.
 *
 * @param before a command of the shell that runs before, with the file as `$1`
 */
export function openElsewhere(path: string, module: URL, open: string, before?: string) {
  const program = `
    const { ${open} } = await import('${module}')
    console.log(await ${open}(${JSON.stringify(path)}).ready().then(() => 'opened', error => error.message))
  `
  const node = [process.execPath, '--input-type=module', '--eval', program]
  const [command = '', ...words] = before
    ? ['unshare', '--mount', 'sh', '-c', `${before} && shift && exec "$@"`, 'sh', path, ...node]
    : node
  // Root may write everything.
  const user = process.getuid?.() === 0 && !before ? { uid: 65_534, gid: 65_534 } : {}
  const { stdout, status } = spawnSync(command, words, {
    ...{ ...user, cwd: join(path, '..'), encoding: 'utf8' },
  })
  return status === 0 ? stdout.trim() : undefined
}

export const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const

/** A document as the storage saves it: with its checksum. */
export function sealed(document: string): string {
  const content = document.replace(/\}\n$/, '')
  return `${content},"crc32":"${digitsOf(content)}"}\n`
}

/** A batch of a journal, for a document with this text. */
export function batchFor(document: string | Buffer, lines: string): string {
  const fields = `{"crc32":"${digitsOf(lines)}","bytes":${Buffer.byteLength(lines)},"document":"${digitsOf(document)}"}`
  return `${fields.padEnd(71)}\n${lines}`
}

function digitsOf(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(8, '0')
}

/** Disables compaction by time. */
export const never = () => () => {}

/** Makes new folders, and removes them after the tests of the calling file. */
export function temporaryFolders(): () => string {
  const root = fs.mkdtempSync(join(tmpdir(), 'json-file-'))
  after(() => fs.rmSync(root, { recursive: true }))
  return () => {
    const folder = join(fs.mkdtempSync(join(root, 'case-')), 'data')
    fs.mkdirSync(folder)
    return folder
  }
}

/** A storage in a new file on a watched disk. */
export async function openWatched(
  folder: string,
  options: JsonFileOptions = {},
  before?: (call: DiskCall) => void | Promise<void>,
) {
  const path = join(folder, 'pets.json')
  const calls: DiskCall[] = []
  const disk = watchedDisk(call => {
    calls.push(call)
    return before?.(call)
  })
  let idle = () => {}
  const whenIdle = (task: () => void) => {
    idle = task
    return () => {}
  }
  const storage = jsonFileStorage(path, { whenIdle, disk, ...options })
  await storage.ready()
  calls.splice(0)
  /** `calls` are those since the opening; `idle` runs what waits for a quiet period. */
  return { path, storage, calls, idle: () => idle() }
}

/** Calls that fail until the disk works again. */
export function faults() {
  const failing = new Map<DiskCall, string>()
  return {
    fail: (call: DiskCall, code: string) => void failing.set(call, code),
    work: () => failing.clear(),
    before(call: DiskCall) {
      const code = failing.get(call)
      if (code !== undefined) throw diskError(code)
    },
  }
}

/** The animals that a new process would find in the files as they are now. */
async function crashed(path: string): Promise<readonly Pet[]> {
  const copy = fs.mkdtempSync(join(path, '..', '..', 'copy-'))
  for (const name of ['pets.json', 'pets.json.journal']) {
    const original = join(path, '..', name)
    if (fs.existsSync(original)) fs.copyFileSync(original, join(copy, name))
  }
  const storage = jsonFileStorage(join(copy, 'pets.json'))
  const { pets } = await storage.dump()
  await storage.close()
  return pets
}

export async function stored(path: string): Promise<string[]> {
  return (await crashed(path)).map(({ name }) => name)
}

export async function storedIds(path: string): Promise<number[]> {
  return (await crashed(path)).map(({ id }) => id)
}

/** Simulates a process in another container, to which the holder looks dead. */
export function hideHolder(path: string): void {
  const lock = `${path}.lock`
  const [owner] = fs.existsSync(lock) ? fs.readdirSync(lock) : []
  if (owner === undefined) return
  fs.renameSync(join(lock, owner), join(lock, owner.replace(/^\d+/, '2147483647')))
}

export function movedOf(path: string): string {
  return `${path} was moved, removed or replaced while open; put it back, or restart`
}
