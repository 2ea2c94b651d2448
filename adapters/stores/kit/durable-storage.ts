import type { Awaitable } from '../../../src/lib/async.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Once } from '../../../src/pets/used-key.js'
import type {
  InsertedOnce,
  IsGone,
  PetFilter,
  PetSnapshot,
  PetStorage,
} from '../../../src/ports.js'
import type { OpensAtUse } from './open-at-use.js'
import { readContent, readNewPet, readOnce } from './parse-stored.js'
import type { PetStream, RestoreOptions } from './pet-stream.js'

/** Outlives its process, opens at its first call, and rejects invalid fields of JavaScript callers. */
export interface DurableStorage extends PetStorage, AsyncDisposable {
  insert(pet: NewPet, isGone?: IsGone): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number, isGone?: IsGone): Promise<InsertedOnce>
  dump(): Promise<PetSnapshot>
  restore(snapshot: PetSnapshot, options?: RestoreOptions): Promise<void>
  /** Restores the content if the storage was never used; resolves to true if it did. */
  restoreIfNew(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  ready(): Promise<void>
  /** Rejects while inserts would. */
  ping(): Promise<void>
  /** Finishes the calls in progress. May be called again. */
  close(): Promise<void>
}

/** An open storage, which receives valid copies. */
export interface OpenedStorage {
  insert(pet: NewPet, isGone?: IsGone): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number, isGone?: IsGone): Promise<InsertedOnce>
  find(id: number): Awaitable<Pet | undefined>
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Promise<PetSnapshot>
  /** Replaces everything if the next id is `wanted`; resolves to true if it did. */
  replace(content: PetStream, options: RestoreOptions | undefined, wanted: Wanted): Promise<boolean>
  ping(): Promise<void>
  close(): Promise<void>
}

export type Wanted = (nextId: number) => boolean

export function durableStorage(
  opening: Pick<OpensAtUse<OpenedStorage>, 'use' | 'methods' | 'ready' | 'close'>,
): DurableStorage {
  const { use, methods, ready, close } = opening
  return {
    ...methods('find', 'list', 'dump', 'ping'),
    // Copied before the wait: the caller may change the objects meanwhile.
    async insert(given, isGone) {
      const pet = readNewPet(given)
      return use(storage => storage.insert(pet, isGone))
    },
    async insertOnce(given, key, now, isGone) {
      const [pet, once] = [readNewPet(given), readOnce(key)]
      return use(storage => storage.insertOnce(pet, once, now, isGone))
    },
    async restore(snapshot, options) {
      const content = readContent(snapshot)
      await use(storage => storage.replace(content, options, () => true))
    },
    async restoreIfNew(given, options) {
      const content = readContent(given)
      return use(storage => storage.replace(content, options, nextId => nextId === 1))
    },
    ready,
    close,
    [Symbol.asyncDispose]: close,
  }
}
