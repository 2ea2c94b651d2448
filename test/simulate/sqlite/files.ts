import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Choices } from '../random.js'

/** In memory where the system has such a folder, as a sync of a disk takes as long as a hundred events. */
const PLACE = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const WAL = '-wal'
const [WAL_HEADER, FRAME_HEADER, SECTOR] = [32, 24, 512]

/** A real folder with SQLite files, of which some bytes are not synced yet. */
export function createFiles() {
  const root = fs.mkdtempSync(join(PLACE, 'adoption-simulate-'))
  /** How much of each WAL is synced, and which WAL that was. */
  let durable = new Map<string, WalEnd>()
  let folder = join(root, '0')
  let moves = 0
  fs.mkdirSync(folder)

  return {
    path: (name: string) => join(folder, name),
    exists: (name: string) => fs.existsSync(join(folder, name)),
    names: () => fs.readdirSync(folder),
    /** Up to where a file is committed; it changes with each commit that writes anything. */
    committed(name: string): string {
      const index = readIndex(join(folder, name))
      return `${index?.salt} ${index?.committed}`
    },
    /** All that has been committed to that file is synced. */
    synced(name: string): void {
      const index = readIndex(join(folder, name))
      if (index) durable.set(name, { salt: index.salt, end: index.committed })
    },
    /**
     * Goes on with a copy of everything, as a crash leaves it.
     *
     * @param cut chooses what is left of the bytes that were not synced; without it, all of them are
     * @returns removes the files from before
     */
    move(cut?: Choices): () => void {
      const old = folder
      const next = join(root, String(++moves))
      fs.mkdirSync(next)
      const ends = new Map<string, WalEnd>()
      // What the processes share in memory is gone.
      for (const file of fs.readdirSync(old).filter(file => !file.endsWith('-shm'))) {
        if (!file.endsWith(WAL)) {
          fs.copyFileSync(join(old, file), join(next, file))
          continue
        }
        const name = file.slice(0, -WAL.length)
        const { salt, end } = durableEnd(name)
        const bytes = fs.readFileSync(join(old, file))
        const left = cut ? cutFrom(bytes, end, cut) : bytes
        fs.writeFileSync(join(next, file), left)
        // What survived a power cut is on the disk.
        ends.set(name, { salt, end: cut ? left.length : end })
      }
      durable = ends
      folder = next
      return () => fs.rmSync(old, { recursive: true })
    },
    remove: () => fs.rmSync(root, { recursive: true, force: true }),
  }

  function durableEnd(name: string): WalEnd {
    const index = readIndex(join(folder, name))
    const known = durable.get(name)
    if (!index) return known ?? { salt: '', end: 0 }
    const synced = known?.salt === index.salt ? known.end : 0
    return { salt: index.salt, end: Math.max(synced, index.copied) }
  }
}

interface WalEnd {
  readonly salt: string
  readonly end: number
}

/** Of a WAL, in bytes: up to where it is committed, and up to where a checkpoint has synced and copied it. */
interface WalIndex {
  readonly salt: string
  readonly committed: number
  readonly copied: number
}

/** The header of the index of the WAL, which processes share (sqlite.org/walformat.html, §2.1). */
function readIndex(path: string): WalIndex | undefined {
  if (!fs.existsSync(`${path}-shm`)) return undefined
  const header = fs.readFileSync(`${path}-shm`)
  // In the byte order of the machine.
  const words = new Uint32Array(header.buffer, header.byteOffset, 25)
  const pageSize = new Uint16Array(header.buffer, header.byteOffset, 8)[7] as number
  const endOf = (frames = 0) => (frames === 0 ? 0 : WAL_HEADER + frames * (FRAME_HEADER + pageSize))
  return {
    salt: header.toString('hex', 32, 40),
    committed: endOf(words[4]),
    copied: endOf(words[24]),
  }
}

/**
 * Some commits are left whole, and the next one is cut off or damaged. Their number is chosen, and not that of
 * the bytes, because versions of SQLite write different pages.
 */
function cutFrom(bytes: Buffer, end: number, choices: Choices): Buffer {
  const ends = [end, ...commitsAfter(bytes, end)]
  const left = choices.below(ends.length)
  const [from, to] = ends.slice(left)
  if (from === undefined || to === undefined) return bytes
  const at = from + Math.floor(choices.between(0, to - from))
  if (choices.chance(0.7)) return bytes.subarray(0, at)
  // Commits after it are lost: SQLite would take them up again once the same rows have been written in its place.
  const damaged = Buffer.from(bytes.subarray(0, to))
  for (let place = at; place < Math.min(to, at + SECTOR); place++) {
    damaged[place] = ~(damaged[place] ?? 0)
  }
  return damaged
}

/** Where each commit ends: its last frame says how many pages the file has then. */
function commitsAfter(bytes: Buffer, end: number): number[] {
  if (bytes.length < WAL_HEADER) return []
  const frame = FRAME_HEADER + bytes.readUInt32BE(8)
  const salt = bytes.toString('hex', 16, 24)
  const ends = []
  for (let at = WAL_HEADER; at + frame <= bytes.length; at += frame) {
    // Of an earlier WAL in the same file.
    if (bytes.toString('hex', at + 8, at + 16) !== salt) break
    if (at >= end && bytes.readUInt32BE(at + 4) > 0) ends.push(at + frame)
  }
  return ends
}
