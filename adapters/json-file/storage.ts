import { petToJson, toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import { createBatches, type Waiting } from '../shared/batches.js'
import { readNewPet } from '../shared/stored-pet.js'
import { encodeBatch } from './batch.js'
import type { Files } from './files.js'
import { JsonFileError } from './json-file-error.js'

export interface JsonFileStorage extends PetStorage, AsyncDisposable {
  /** Rejects invalid fields, which a JavaScript caller may pass. */
  insert(pet: NewPet): Promise<Pet>
  restore(snapshot: PetSnapshot): Promise<void>
  /**
   * Finishes the inserts in flight and leaves the complete document and no other file. May be
   * called again. When it rejects, the journal stays and the next opening reads it.
   */
  close(): Promise<void>
}

/** Calls a task later; the returned function cancels it. */
export type WhenIdle = (task: () => void) => () => void

/** The storage over opened files. */
export function createStorage(path: string, files: Files, whenIdle: WhenIdle): JsonFileStorage {
  const inserts = createBatches((batch: Batch) => inTurn(() => commit(batch)), LIMITS)
  let lastTurn: Promise<unknown> = Promise.resolve()
  let cancelIdle = () => {}
  let closing: Promise<void> | undefined

  return {
    async insert(given) {
      refuseWhenClosed()
      return inserts.add(readNewPet(given))
    },
    find: id => files.index.find(id),
    list: filter => files.index.list(filter),
    dump: () => files.index.dump(),
    async restore(snapshot) {
      refuseWhenClosed()
      for (const pet of snapshot.pets) readNewPet(pet)
      const restored = createPetIndex(snapshot)
      await inTurn(() => files.replace(restored))
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  /** Changes to the files take turns; reads never wait for one. */
  function inTurn(task: () => Promise<void>): Promise<void> {
    const turn = lastTurn.then(task)
    lastTurn = turn.catch(() => {})
    return turn
  }

  /** Writes a batch, and makes it visible once it is durable. */
  async function commit(batch: Batch): Promise<void> {
    const { index } = files
    const pets = batch.map(({ item }) => item)
    await files.append(encodeBatch(linesOf(pets, index.nextId())))
    for (const { item, resolve } of batch) resolve(index.insert(item))
    cancelIdle()
    cancelIdle = whenIdle(() => void inTurn(async () => files.compact('idle')))
    files.compact('busy')
  }

  function close(): Promise<void> {
    closing ??= inserts.idle().then(() =>
      inTurn(() => {
        cancelIdle()
        return files.close()
      }),
    )
    return closing
  }

  function refuseWhenClosed(): void {
    if (closing) throw new JsonFileError(path, 'is closed')
  }
}

type Batch = readonly Waiting<NewPet, Pet>[]

/** In characters: bounds the time that serializing a batch blocks the process, and its text. */
const LIMITS = {
  items: Number.POSITIVE_INFINITY,
  size: 1_048_576,
  sizeOf: ({ name }: NewPet) => name.length + OTHER_FIELDS,
}
const OTHER_FIELDS = 100

function linesOf(pets: readonly NewPet[], firstId: number): string {
  if (firstId + pets.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
  return pets.map((pet, at) => `${petToJson(toPet(firstId + at, pet))}\n`).join('')
}
