import { petToJson, toPet } from '../../../src/pets/pet.js'
import type { InsertedOnce } from '../../../src/ports.js'
import { createBatches } from '../kit/batches.js'
import type { DurableStorage, OpenedStorage } from '../kit/durable-storage.js'
import { type Insert, onceEach } from '../kit/keyed-inserts.js'
import { createPetIndex } from '../kit/pet-index.js'
import { snapshotOf } from '../kit/pet-stream.js'
import { keyToJson } from './document.js'
import { createFiles, type FileParts } from './document-and-journal.js'

/**
 * `ping` rejects when a file was moved, replaced or cut, or the lock is lost. `close` leaves only the
 * document; when it rejects, the journal stays for the next opening.
 */
export interface JsonFileStorage extends DurableStorage {}

/** Calls a task later; the returned function cancels it. */
export type WhenIdle = (task: () => void) => () => void

export interface StorageParts extends FileParts {
  readonly whenIdle: WhenIdle
}

export function createStorage(parts: StorageParts): OpenedStorage {
  const { document, whenIdle } = parts
  const files = createFiles(parts)
  const commitOnceEach = onceEach<Insert>(given => inTurn(() => commit(given())))
  const inserts = createBatches(commitOnceEach, LIMITS)
  let lastTurn: Promise<unknown> = Promise.resolve()
  let cancelIdle = () => {}

  return {
    insert: async (pet, isGone) => (await inserts.add({ pet, now: 0 }, isGone)).pet,
    // A key in use has been stored already.
    insertOnce: async (pet, once, now, isGone) =>
      document.data.findOnce(once, now) ?? inserts.add({ pet, once, now }, isGone),
    find: id => document.data.find(id),
    list: filter => document.data.list(filter),
    dump: async () => document.data.dump(),
    async replace(content, options, wanted) {
      const index = createPetIndex(await snapshotOf(content, options))
      return inTurn(async () => {
        if (!wanted(document.data.nextId())) return false
        await files.replace(index)
        return true
      })
    },
    ping: async () => files.refuseUnusable(),
    async close() {
      await inserts.idle()
      await inTurn(() => {
        cancelIdle()
        return files.close()
      })
    },
  }

  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = lastTurn.then(task)
    lastTurn = turn.catch(() => {})
    return turn
  }

  /** Makes a batch visible once it is durable. */
  async function commit(inserts: readonly Insert[]): Promise<readonly InsertedOnce[]> {
    const index = document.data
    // Decided once, because keys expire meanwhile, and only written pets may be stored.
    const known = inserts.map(({ once, now }) => once && index.findOnce(once, now))
    const fresh = inserts.filter((_, at) => !known[at])
    if (fresh.length === 0) return known as InsertedOnce[]
    await files.append(linesOf(fresh, index.nextId()))
    compactLater()
    return inserts.map(
      ({ pet, once, now }, at) =>
        known[at] ??
        (once
          ? index.insertOnce(pet, once, now)
          : { pet: index.insert(pet), fingerprint: '', replayed: false }),
    )
  }

  function compactLater(): void {
    cancelIdle()
    cancelIdle = whenIdle(() => void inTurn(() => files.compact('idle')))
    void inTurn(() => files.compact('busy'))
  }
}

/** In characters: serializing a batch blocks the process. */
const LIMITS = {
  name: 'json-file.insert',
  items: Number.POSITIVE_INFINITY,
  size: 1_048_576,
  sizeOf: ({ pet, once }: Insert) => pet.name.length + (once ? 300 : 100),
}

function linesOf(inserts: readonly Insert[], firstId: number): string {
  if (firstId + inserts.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
  const lineOf = ({ pet, once }: Insert, at: number) => {
    const petId = firstId + at
    const line = `${petToJson(toPet(petId, pet))}\n`
    return once ? `${line}${keyToJson({ ...once, petId })}\n` : line
  }
  return inserts.map(lineOf).join('')
}
