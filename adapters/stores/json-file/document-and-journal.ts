import type { Low } from 'lowdb'
import { MAX_BODY_BYTES } from '../../../src/protocol/body.js'
import { MOVED } from '../kit/durable-files.js'
import type { PetIndex } from '../kit/pet-index.js'
import { type DocumentFile, lengthOf } from './document.js'
import type { Journal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'

export interface FileParts {
  readonly path: string
  readonly document: Low<PetIndex>
  readonly content: DocumentFile
  readonly journal: Journal
  readonly lock: Lock
  readonly report: (error: JsonFileError) => void
}

/** Document and journal as one, for one change at a time. A call that rejects changes nothing. */
export function createFiles(parts: FileParts) {
  const { path, document, content, journal, lock, report } = parts
  let repair: (() => Promise<void>) | undefined
  let retryAt = 0

  return {
    refuseUnusable(): void {
      refuseMissing()
      refuseFull(content.length + journal.length + MAX_BODY_BYTES)
    },
    async append(lines: string): Promise<void> {
      await settle()
      refuseMissing()
      refuseFull(content.length + journal.length + Buffer.byteLength(lines))
      if (journal.length === 0) await begin()
      await change(() => journal.append(lines, content.id as string), journal.undo)
    },
    /** Compacts a journal larger than the document, or a share of it when idle. Never rejects. */
    async compact(when: 'busy' | 'idle'): Promise<void> {
      if (journal.length === 0 || journal.length < compactionLength(when)) return
      try {
        await settle()
        refuseMissing()
        await compactAll()
        retryAt = 0
      } catch (error) {
        // The journal holds every pet. Under load, do not try again with every insert.
        retryAt = journal.length + Math.max(content.length, SMALL_DOCUMENT)
        const reason = `could not be compacted: ${(error as Error).message}`
        report(
          new JsonFileError(path, `${reason}; the journal keeps all animals`, { cause: error }),
        )
      }
    },
    async replace(index: PetIndex): Promise<void> {
      await settle()
      refuseMissing()
      refuseFull(lengthOf(index))
      // Compact first, because the journal belongs to the replaced document.
      if (journal.length > 0) await compactAll()
      await write(() => content.write(index))
      document.data = index
    },
    async close(): Promise<void> {
      try {
        if (!content.isInPlace() && journal.length > 0) throw new JsonFileError(path, MOVED)
        await settle()
        if (journal.length > 0) await compactAll()
      } finally {
        await journal.close().finally(lock.release)
      }
    },
  }

  function refuseFull(bytes: number): void {
    if (bytes > MOST_BYTES) throw new JsonFileError(path, FULL)
  }

  function refuseMissing(): void {
    if (!content.isInPlace()) throw new JsonFileError(path, MOVED)
    if (!journal.isInPlace()) throw new JsonFileError(`${path}.journal`, MOVED)
    lock.check()
  }

  function compactionLength(when: 'busy' | 'idle'): number {
    const { length } = content
    if (when === 'busy') return Math.max(length, SMALL_DOCUMENT, retryAt)
    return length > SMALL_DOCUMENT ? length * IDLE_SHARE : 0
  }

  /** A document that cannot be replaced, as on Windows while somebody views it, only does not say that it has a journal. */
  async function begin(): Promise<void> {
    try {
      await write(() => content.writeWithJournal(document.data, journal.begin))
    } catch {
      await settle()
      await write(() => journal.begin(content.id as string))
    }
  }

  async function compactAll(): Promise<void> {
    await write(() => document.write())
    await change(journal.remove, journal.remove)
  }

  /** After a failed replacement, the document is written again without its journal. */
  async function write(save: () => Promise<void>): Promise<void> {
    const before = content.id
    const isCompacting = journal.length > 0
    await change(save, async () => {
      if (content.id !== before) await document.write()
      else if (isCompacting) return
      await journal.remove()
    })
  }

  async function change(task: () => Promise<void>, undo: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      repair = undo
      await settle().catch(() => {})
      throw error
    }
  }

  async function settle(): Promise<void> {
    await repair?.()
    repair = undefined
  }
}

/** Of document and journal. They stay below the longest string, as a line of the document is a byte longer. */
const MOST_BYTES = 500_000_000
const FULL =
  'is full: document and journal hold at most 500 MB; continue in SQLite, see animal-adoption-store copy'
/** In bytes. Written in a few milliseconds. */
const SMALL_DOCUMENT = 1_048_576
/** Share of the document. A smaller journal is not worth writing a large document again. */
const IDLE_SHARE = 1 / 8
