import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { crc32 } from 'node:zlib'
import { jsonFileStorage } from '../../adapters/json-file/index.js'

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

/** The names that a new process would find in the files as they are now. */
export async function stored(path: string): Promise<string[]> {
  const copy = fs.mkdtempSync(join(path, '..', '..', 'copy-'))
  for (const name of ['pets.json', 'pets.json.journal']) {
    const original = join(path, '..', name)
    if (fs.existsSync(original)) fs.copyFileSync(original, join(copy, name))
  }
  const storage = await jsonFileStorage(join(copy, 'pets.json'))
  const { pets } = await storage.dump()
  await storage.close()
  return pets.map(({ name }) => name)
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

/** @throws Error after a minute, instead of waiting forever */
export async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 60_000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not within a minute: ${holds}`)
    await new Promise(setImmediate)
  }
}

/** Blocks every `await` of `passed` until the test opens it. */
export function gate(): { open: () => void; passed: Promise<void> } {
  let open = () => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, passed }
}
