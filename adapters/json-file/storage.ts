import { petToJson, toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { Once } from '../../src/pets/used-key.js'
import type { InsertedOnce } from '../../src/ports.js'
import { createBatches, type Waiting } from '../storage/batches.js'
import type { DurableStorage } from '../storage/durable-storage.js'
import { type KeyedInsert, onceEach } from '../storage/once-each.js'
import { createPetIndex, insertWithKey } from '../storage/pet-index.js'
import { snapshotOf } from '../storage/pet-stream.js'
import { readContent, readNewPet, readOnce, readSnapshot } from '../storage/stored.js'
import { keyToJson } from './document.js'
import { createFiles, type FileParts } from './files.js'
import { JsonFileError } from './json-file-error.js'

/**
 * `ping` rejects when a file was moved, replaced or cut, or the lock is lost. `close` leaves the complete
 * document and no other file; when it rejects, the journal stays and the next opening reads it.
 */
export interface JsonFileStorage extends DurableStorage {}

/** Calls a task later; the returned function cancels it. */
export type WhenIdle = (task: () => void) => () => void

export interface StorageParts extends FileParts {
  readonly whenIdle: WhenIdle
}

export function createStorage(parts: StorageParts): JsonFileStorage {
  const { path, document, whenIdle } = parts
  const files = createFiles(parts)
  const inserts = createBatches((batch: Batch) => inTurn(() => commit(batch)), LIMITS)
  const keyed = createBatches(
    onceEach(inserts => inTurn(() => commitOnce(inserts()))),
    KEYED_LIMITS,
  )
  let lastTurn: Promise<unknown> = Promise.resolve()
  let cancelIdle = () => {}
  let closing: Promise<void> | undefined

  return {
    async insert(given, isGone) {
      refuseWhenClosed()
      return inserts.add(readNewPet(given), isGone)
    },
    async insertOnce(given, once, now, isGone) {
      refuseWhenClosed()
      const insert = { pet: readNewPet(given), once: readOnce(once), now }
      // What is in use is durable.
      return document.data.findOnce(once, now) ?? keyed.add(insert, isGone)
    },
    find: id => document.data.find(id),
    list: filter => document.data.list(filter),
    dump: () => document.data.dump(),
    async restore(snapshot) {
      refuseWhenClosed()
      const restored = createPetIndex(readSnapshot(snapshot))
      await inTurn(() => files.replace(restored))
    },
    async seed(content, options) {
      refuseWhenClosed()
      const seeded = createPetIndex(await snapshotOf(readContent(content), options))
      // Reading it took its time.
      refuseWhenClosed()
      return inTurn(async () => {
        if (document.data.nextId() > 1) return false
        await files.replace(seeded)
        return true
      })
    },
    async ping() {
      refuseWhenClosed()
      files.refuseUnusable()
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  /** Changes to the files take turns; reads do not. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = lastTurn.then(task)
    lastTurn = turn.catch(() => {})
    return turn
  }

  /** Writes a batch, and makes it visible once it is durable. */
  async function commit(batch: Batch): Promise<void> {
    const pets = batch.map(({ item }) => item)
    await files.append(linesOf(pets, document.data.nextId()))
    for (const { item, resolve } of batch) resolve(document.data.insert(item))
    await compactLater()
  }

  /** The same for inserts with keys: one whose key is in use inserts nothing. */
  async function commitOnce(inserts: readonly KeyedInsert[]): Promise<readonly InsertedOnce[]> {
    const index = document.data
    // Decided once: while keys are added, others expire, and what was not written may not be stored.
    const known = inserts.map(({ once, now }) => index.findOnce(once, now))
    const fresh = inserts.filter((_, at) => !known[at])
    if (fresh.length === 0) return known as InsertedOnce[]
    const pets = fresh.map(({ pet }) => pet)
    const keys = fresh.map(({ once }) => once)
    await files.append(linesOf(pets, index.nextId(), keys))
    const answers = inserts.map(
      ({ pet, once, now }, at) => known[at] ?? insertWithKey(index, pet, once, now),
    )
    await compactLater()
    return answers
  }

  async function compactLater(): Promise<void> {
    cancelIdle()
    cancelIdle = whenIdle(() => void inTurn(() => files.compact('idle')))
    await files.compact('busy')
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

/** In characters: bounds the time that serializing a batch blocks the process, and its text. */
const LIMITS = {
  name: 'json-file.insert',
  items: Number.POSITIVE_INFINITY,
  size: 1_048_576,
  sizeOf: ({ name }: NewPet) => name.length + OTHER_FIELDS,
}
const OTHER_FIELDS = 100
const KEYED_LIMITS = {
  ...LIMITS,
  name: 'json-file.insert-once',
  sizeOf: ({ pet }: KeyedInsert) => LIMITS.sizeOf(pet) + KEY_FIELDS,
}
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
