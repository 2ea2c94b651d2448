import { dirname } from 'node:path'
import type { Low } from 'lowdb'
import type { PetIndex } from '../memory.js'
import { MOVED } from '../storage/same-file.js'
import { type Disk, syncFolder } from './disk.js'
import type { DocumentFile } from './document.js'
import { type Journal, removeJournal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'

/** A document that was read, two empty journals and the lock over all three. */
export interface FileParts {
  readonly disk: Disk
  readonly path: string
  /** Its data is the one index of all pets that are acknowledged. */
  readonly document: Low<PetIndex>
  readonly content: DocumentFile
  readonly journals: readonly [Journal, Journal]
  readonly journalPaths: readonly string[]
  readonly lock: Lock
  /** Receives what fails in the background. */
  readonly report: (error: JsonFileError) => void
}

/**
 * Document and journals as one. A call that rejects has changed nothing, and may be retried. Callers
 * make one change at a time; a compaction runs alongside.
 */
export interface Files {
  readonly index: PetIndex
  /** @throws JsonFileError while nothing can be stored, because the document or the lock is gone */
  refuseUnusable(): void
  /** Resolves when the batch is durable. */
  append(batch: Uint8Array): Promise<void>
  /** Starts a compaction if the journals have outgrown the document, or a share of it when idle. */
  compact(when: 'busy' | 'idle'): void
  /** Replaces all that is stored. */
  replace(index: PetIndex): Promise<void>
  /** Compacts, if it can, and frees the files. */
  close(): Promise<void>
}

export function createFiles(parts: FileParts): Files {
  const { disk, path, document, content, journals, journalPaths, lock, report } = parts
  /** Batches go to the first; the second holds those that a compaction is adding to the document. */
  let [active, compacted] = journals
  let compaction: Promise<void> | undefined
  let retryAt = 0
  let broken: 'journal' | 'document' | undefined

  return {
    get index() {
      return document.data
    },
    refuseUnusable() {
      refuseMoved()
      lock.check()
    },
    async append(batch) {
      // A restart would find the journal with another document, or with none.
      refuseMoved()
      await changeFile(async () => {
        if (active.length === 0 && !compaction && !(await content.isUnchanged())) await rewrite()
        await active.append(batch)
        if (!compacted.isInPlace()) throw new JsonFileError(path, 'lost its journal')
      }, 'journal')
    },
    compact(when) {
      if (compaction || broken || journalLength() < compactionLength(when)) return
      if (!content.isInPlace()) return report(new JsonFileError(path, MOVED))
      // After a failed compaction the second journal is still needed, and the first stays active.
      if (compacted.length === 0) [active, compacted] = [compacted, active]
      compaction = compactInBackground().finally(() => {
        compaction = undefined
      })
    },
    async replace(index) {
      refuseMoved()
      // The journals go first: otherwise their pets could be replayed onto the new document.
      await compactAll()
      await syncFolder(disk, path)
      await changeFile(async () => {
        await content.write(index)
        document.data = index
      }, 'document')
    },
    async close() {
      try {
        await compactAll()
      } finally {
        await closeJournals().finally(lock.release)
      }
    },
  }

  function refuseMoved(): void {
    if (!content.isInPlace()) throw new JsonFileError(path, MOVED)
  }

  function journalLength(): number {
    return active.length + compacted.length
  }

  function compactionLength(when: 'busy' | 'idle'): number {
    const { length } = content
    if (when === 'busy') return Math.max(length, SMALL_DOCUMENT, retryAt)
    return Math.max(1, length > SMALL_DOCUMENT ? length * IDLE_SHARE : 0)
  }

  async function compactInBackground(): Promise<void> {
    try {
      await document.write()
      await compacted.remove()
      retryAt = 0
    } catch (error) {
      // The journals hold every pet. Under load, do not try again with every insert.
      retryAt = journalLength() + Math.max(content.length, SMALL_DOCUMENT)
      const reason = `could not be compacted: ${(error as Error).message}`
      report(new JsonFileError(path, `${reason}; the journal keeps all animals`, { cause: error }))
    }
  }

  async function compactAll(): Promise<void> {
    await compaction
    await recover()
    if (journalLength() > 0) await (content.isInPlace() ? document.write() : rewrite())
    await active.remove()
    await compacted.remove()
  }

  /**
   * Changes a file. Remains of a failed change are removed: at once or, while the disk prevents it,
   * before the next change.
   */
  async function changeFile(
    change: () => Promise<void>,
    file: 'journal' | 'document',
  ): Promise<void> {
    await recover()
    try {
      await change()
    } catch (error) {
      broken = file
      await recover().catch(() => {})
      throw error
    }
  }

  async function recover(): Promise<void> {
    if (broken === undefined) return
    const isInPlace = lock.isHeld() && active.isInPlace() && compacted.isInPlace()
    if (broken === 'journal' && isInPlace) await active.truncate()
    else await rewrite()
    broken = undefined
  }

  /** Makes the document hold everything, whatever happened to the files. */
  async function rewrite(): Promise<void> {
    await compaction
    if (!disk.existsSync(dirname(path))) {
      const fix = `its folder was moved or removed, and with it ${journalPaths[0]} with the last animals`
      throw new JsonFileError(path, `cannot be saved: ${fix}; put it back before the next start`)
    }
    // A lost lock is retaken only if the document is gone too: otherwise another process has it.
    if (!disk.existsSync(path)) await lock.retake()
    await document.write()
    for (const journalPath of journalPaths) await removeJournal(disk, journalPath, lock)
    await closeJournals()
  }

  async function closeJournals(): Promise<void> {
    try {
      await active.close()
    } finally {
      await compacted.close()
    }
  }
}

/** In bytes. A document below it is written in a few milliseconds. */
const SMALL_DOCUMENT = 1_048_576
/** Of the document. A smaller journal is not worth writing a large document again. */
const IDLE_SHARE = 1 / 8
