import type { Low } from 'lowdb'
import type { PetSnapshot } from '../../src/ports.js'
import type { Disk } from './disk.js'
import type { DocumentFile } from './document.js'
import type { Journal } from './journal.js'
import type { Lock } from './lock.js'

/** A document that was read, an empty journal and the lock over both. */
export interface FileParts {
  readonly disk: Disk
  readonly path: string
  readonly document: Low<PetSnapshot>
  readonly content: DocumentFile
  readonly journal: Journal
  readonly lock: Lock
}

/** Document and journal as one. What rejects has changed nothing, and may succeed another time. */
export interface Files {
  /** Whether the journal is longer than the document, and long enough to matter. */
  readonly outgrown: boolean
  /** Resolves when the lines are durable. */
  append(lines: string): Promise<void>
  /** Brings the document up to date and removes the journal. */
  compact(): Promise<void>
  /** Replaces all that is kept. */
  replace(snapshot: PetSnapshot): Promise<void>
  /** Compacts, if it can, and lets others have the files. */
  close(): Promise<void>
}

/** @param current gives all that was acknowledged */
export function createFiles(parts: FileParts, current: () => PetSnapshot): Files {
  const { disk, path, document, content, journal, lock } = parts
  let compactAt = compactionSize()
  let broken: 'journal' | 'document' | undefined

  return {
    get outgrown() {
      return journal.length >= compactAt
    },
    append: lines => attempt(() => journal.append(lines), 'journal'),
    compact,
    async replace(snapshot) {
      // The journal goes first: its lines would follow on the new document as well.
      await compact()
      await attempt(() => write(snapshot), 'document')
    },
    async close() {
      try {
        await compact()
      } finally {
        await journal.close()
        await lock.release()
      }
    },
  }

  async function compact(): Promise<void> {
    await mend()
    // Should it fail, it is not tried again with every insert.
    compactAt = journal.length + compactionSize()
    if (journal.length > 0) await write(current())
    await journal.remove()
    compactAt = compactionSize()
  }

  function compactionSize(): number {
    return Math.max(content.length, SMALLEST_COMPACTION)
  }

  async function write(snapshot: PetSnapshot): Promise<void> {
    lock.check()
    document.data = snapshot
    await document.write()
  }

  /**
   * Makes a change to a file. What a change that fails left there is undone: at once or, while the
   * disk does not let it, before the next change.
   */
  async function attempt(change: () => Promise<void>, file: 'journal' | 'document'): Promise<void> {
    await mend()
    try {
      await change()
    } catch (error) {
      broken = file
      await mend().catch(() => {})
      throw error
    }
  }

  async function mend(): Promise<void> {
    if (broken === undefined) return
    if (broken === 'journal' && lock.isHeld() && journal.isLinked()) {
      await journal.truncate()
    } else {
      // Without the lock, only where all is gone with the folder: otherwise it is another's now.
      if (!disk.existsSync(path)) await lock.retake()
      await write(current())
      await journal.close()
    }
    broken = undefined
  }
}

/** In bytes. Below it, a compaction under load costs more syncs than the shorter journal is worth. */
const SMALLEST_COMPACTION = 1_048_576
