import type { Low } from 'lowdb'
import { petToJson } from '../../src/json.js'
import type { NewPet, Pet } from '../../src/model.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import type { Disk } from './disk.js'
import type { DocumentFile } from './document.js'
import type { Journal } from './journal.js'
import { JsonFileError } from './json-file-error.js'
import type { Lock } from './lock.js'

export interface JsonFileStorage extends PetStorage, AsyncDisposable {
  /** Leaves the document, complete, and no other file. Can be called again. */
  close(): Promise<void>
}

export interface StorageParts {
  readonly disk: Disk
  readonly path: string
  readonly index: PetIndex
  readonly document: Low<PetSnapshot>
  readonly content: DocumentFile
  readonly journal: Journal
  readonly lock: Lock
  readonly whenIdle: (task: () => void) => () => void
}

/** The storage over a document that was read, and a journal that is empty. */
export function createStorage(parts: StorageParts): JsonFileStorage {
  const { disk, path, document, content, journal, lock, whenIdle } = parts
  let { index } = parts
  let waiting: Insert[] = []
  let lastTurn: Promise<unknown> = Promise.resolve()
  let foldAt = foldSize()
  let callOff = () => {}
  let broken: 'journal' | 'document' | undefined
  let closing: Promise<void> | undefined

  return {
    async insert({ name, categoryId, status }) {
      if (closing) throw closed()
      const pet = status === undefined ? { name, categoryId } : { name, categoryId, status }
      return new Promise((resolve, reject) => {
        if (waiting.push({ pet, resolve, reject }) === 1) void inTurn(commit)
      })
    },
    async find(id) {
      return index.find(id)
    },
    async list(filter) {
      return index.list(filter)
    },
    async dump() {
      return index.dump()
    },
    async restore(snapshot) {
      if (closing) throw closed()
      const restored = createPetIndex(snapshot)
      await inTurn(() => replaceAll(restored))
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  /** Whatever changes the files waits for its turn; reads never do. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = lastTurn.then(task)
    lastTurn = turn.catch(() => {})
    return turn
  }

  /** Writes all inserts that wait, shares one sync among them, and only then lets them be seen. */
  async function commit(): Promise<void> {
    // The callers of the commit before this one are on their way with their next inserts.
    await new Promise(setImmediate)
    const batch = waiting
    waiting = []
    const { nextId } = index
    try {
      if (nextId + batch.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
      const lines = batch.map(({ pet }, at) => `${petToJson({ id: nextId + at, ...pet } as Pet)}\n`)
      await attempt(() => journal.append(lines.join('')), 'journal')
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return
    }
    for (const { pet, resolve } of batch) resolve(index.add(index.nextId, pet))
    callOff()
    if (journal.length < foldAt) callOff = whenIdle(foldInBackground)
    else foldInBackground()
  }

  /** What is in the journal is safe there: a fold that fails is tried again with a later insert. */
  function foldInBackground(): void {
    inTurn(fold).catch(() => {})
  }

  async function fold(): Promise<void> {
    foldAt = journal.length + foldSize()
    if (journal.length > 0) await writeDocument()
    await journal.remove()
    foldAt = foldSize()
  }

  function foldSize(): number {
    return Math.max(content.length, SMALLEST_FOLD)
  }

  async function writeDocument(data = index.dump()): Promise<void> {
    lock.check()
    document.data = data
    await document.write()
  }

  /** The journal goes first: its lines would follow on the new document as well. */
  async function replaceAll(restored: PetIndex): Promise<void> {
    await mend()
    await fold()
    await attempt(() => writeDocument(restored.dump()), 'document')
    index = restored
  }

  /**
   * Makes a change to a file. What a change that fails left there is undone, at once or, while the
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
      await writeDocument()
      await journal.close()
    }
    broken = undefined
  }

  function close(): Promise<void> {
    callOff()
    closing ??= inTurn(async () => {
      callOff()
      try {
        await mend()
        await fold()
      } finally {
        await journal.close()
        await lock.release()
      }
    })
    return closing
  }

  function closed(): JsonFileError {
    return new JsonFileError(path, 'is closed')
  }
}

interface Insert {
  readonly pet: NewPet
  readonly resolve: (pet: Pet) => void
  readonly reject: (error: unknown) => void
}

/** In bytes: below it, a journal is not worth folding under load. */
const SMALLEST_FOLD = 1_048_576
