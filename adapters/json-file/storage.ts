import { petToJson } from '../../src/json.js'
import type { NewPet, Pet } from '../../src/model.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex, type PetIndex } from '../memory.js'
import { createFiles, type FileParts } from './files.js'
import { JsonFileError } from './json-file-error.js'

export interface JsonFileStorage extends PetStorage, AsyncDisposable {
  insert(pet: NewPet): Promise<Pet>
  restore(snapshot: PetSnapshot): Promise<void>
  /**
   * Finishes the inserts in flight and leaves the document, complete, and no other file. Can be
   * called again. When it rejects, the journal stays, and the next opening reads it.
   */
  close(): Promise<void>
}

/** Calls a task some time later, unless it is called off. */
export type WhenIdle = (task: () => void) => () => void

/** The storage over opened files and the index of what they hold. */
export function createStorage(
  parts: FileParts,
  openedIndex: PetIndex,
  whenIdle: WhenIdle,
): JsonFileStorage {
  let index = openedIndex
  let waiting: Insert[] = []
  let lastTurn: Promise<unknown> = Promise.resolve()
  let callOff = () => {}
  let closing: Promise<void> | undefined
  const files = createFiles(parts, () => index.dump())

  return {
    async insert({ name, categoryId, status }) {
      refuseWhenClosed()
      const pet = status === undefined ? { name, categoryId } : { name, categoryId, status }
      return new Promise((resolve, reject) => {
        if (waiting.push({ pet, resolve, reject }) === 1) void inTurn(commit)
      })
    },
    find: id => index.find(id),
    list: filter => index.list(filter),
    dump: () => index.dump(),
    async restore(snapshot) {
      refuseWhenClosed()
      const restored = createPetIndex(snapshot)
      await inTurn(async () => {
        await files.replace(restored.dump())
        index = restored
      })
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  /** Whatever changes the files waits for its turn; reads never do. */
  function inTurn(task: () => Promise<void>): Promise<void> {
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
    try {
      await files.append(linesOf(batch, index.nextId))
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return
    }
    for (const { pet, resolve } of batch) resolve(index.insert(pet))
    callOff()
    if (files.outgrown) compactInBackground()
    else callOff = whenIdle(compactInBackground)
  }

  /** What is in the journal is safe there: a compaction that fails is tried again after a later insert. */
  function compactInBackground(): void {
    inTurn(files.compact).catch(() => {})
  }

  function close(): Promise<void> {
    closing ??= inTurn(async () => {
      callOff()
      await files.close()
    })
    return closing
  }

  function refuseWhenClosed(): void {
    if (closing) throw new JsonFileError(parts.path, 'is closed')
  }
}

interface Insert {
  readonly pet: NewPet
  readonly resolve: (pet: Pet) => void
  readonly reject: (error: unknown) => void
}

function linesOf(batch: readonly Insert[], firstId: number): string {
  if (firstId + batch.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
  return batch.map(({ pet }, at) => `${petToJson({ id: firstId + at, ...pet } as Pet)}\n`).join('')
}
