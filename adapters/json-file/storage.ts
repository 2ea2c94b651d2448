import { petToJson, toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { InsertedOnce, Once, PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import { createBatches, type Waiting } from '../shared/batches.js'
import { readNewPet } from '../shared/stored-pet.js'
import { createUsedKeys, readOnce } from '../shared/used-keys.js'
import { encodeBatch } from './batch.js'
import type { Files } from './files.js'
import { JsonFileError } from './json-file-error.js'
import { keyToJson } from './key-line.js'

export interface JsonFileStorage extends PetStorage, AsyncDisposable {
  /** Rejects invalid fields, which a JavaScript caller may pass. */
  insert(pet: NewPet): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number): Promise<InsertedOnce>
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
  const keyed = createBatches((batch: KeyedBatch) => inTurn(() => commitOnce(batch)), KEYED_LIMITS)
  let lastTurn: Promise<unknown> = Promise.resolve()
  let cancelIdle = () => {}
  let closing: Promise<void> | undefined

  return {
    async insert(given) {
      refuseWhenClosed()
      return inserts.add(readNewPet(given))
    },
    async insertOnce(given, once, now) {
      refuseWhenClosed()
      return keyed.add({ pet: readNewPet(given), once: readOnce(once), now })
    },
    find: id => files.index.find(id),
    list: filter => files.index.list(filter),
    dump: () => files.index.dump(),
    async restore(snapshot) {
      refuseWhenClosed()
      for (const pet of snapshot.pets) readNewPet(pet)
      for (const used of snapshot.idempotencyKeys ?? []) readOnce(used)
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
    compactLater()
  }

  /** The same for inserts with keys. Those that repeat a key of their batch wait for it. */
  async function commitOnce(batch: KeyedBatch): Promise<void> {
    const { index } = files
    const fresh: Waiting<Keyed, InsertedOnce>[] = []
    const repeated: Waiting<Keyed, InsertedOnce>[] = []
    const inBatch = createUsedKeys()
    for (const waiting of batch) {
      const { once, now } = waiting.item
      const known = index.findOnce(once, now)
      if (known) waiting.resolve(known)
      else if (inBatch.find(once, now)) repeated.push(waiting)
      else {
        inBatch.add({ ...once, petId: 0 }, now)
        fresh.push(waiting)
      }
    }
    if (fresh.length === 0) return
    const pets = fresh.map(({ item }) => item.pet)
    const keys = fresh.map(({ item }) => item.once)
    await files.append(encodeBatch(linesOf(pets, index.nextId(), keys)))
    for (const { item, resolve } of fresh) {
      const pet = index.insert(item.pet)
      index.use({ ...item.once, petId: pet.id }, item.now)
      resolve({ pet, fingerprint: item.once.fingerprint, replayed: false })
    }
    for (const { item, resolve } of repeated) {
      resolve(index.findOnce(item.once, item.now) as InsertedOnce)
    }
    compactLater()
  }

  function compactLater(): void {
    cancelIdle()
    cancelIdle = whenIdle(() => void inTurn(async () => files.compact('idle')))
    files.compact('busy')
  }

  function close(): Promise<void> {
    closing ??= Promise.all([inserts.idle(), keyed.idle()]).then(() =>
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

/** An insert with a key. */
interface Keyed {
  readonly pet: NewPet
  readonly once: Once
  readonly now: number
}

type KeyedBatch = readonly Waiting<Keyed, InsertedOnce>[]

/** In characters: bounds the time that serializing a batch blocks the process, and its text. */
const LIMITS = {
  items: Number.POSITIVE_INFINITY,
  size: 1_048_576,
  sizeOf: ({ name }: NewPet) => name.length + OTHER_FIELDS,
}
const OTHER_FIELDS = 100
const KEYED_LIMITS = { ...LIMITS, sizeOf: ({ pet }: Keyed) => LIMITS.sizeOf(pet) + KEY_FIELDS }
const KEY_FIELDS = 200

function linesOf(pets: readonly NewPet[], firstId: number, keys: readonly Once[] = []): string {
  if (firstId + pets.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
  const lineOf = (pet: NewPet, at: number) => {
    const petId = firstId + at
    const line = `${petToJson(toPet(petId, pet))}\n`
    const once = keys[at]
    return once ? `${line}${keyToJson({ ...once, petId })}\n` : line
  }
  return pets.map(lineOf).join('')
}
