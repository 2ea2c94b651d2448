import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Once } from '../../../src/pets/used-key.js'
import type { InsertedOnce, IsGone, PetSnapshot, PetStorage } from '../../../src/ports.js'
import type { PetStream, RestoreOptions } from './pet-stream.js'

/** A storage that outlives its process. Its methods reject invalid fields, which a JavaScript caller may pass. */
export interface DurableStorage extends PetStorage, AsyncDisposable {
  insert(pet: NewPet, isGone?: IsGone): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number, isGone?: IsGone): Promise<InsertedOnce>
  restore(snapshot: PetSnapshot, options?: RestoreOptions): Promise<void>
  /** Restores all of it if the storage was never used; resolves with whether it did. */
  seed(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  /** Rejects while inserts would. */
  ping(): Promise<void>
  /** Finishes the calls in progress and frees what the storage uses. May be called again. */
  close(): Promise<void>
}
