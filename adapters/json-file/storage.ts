import { INT64_RANGE, isInt64, shortestForm } from '../../src/lib/int64.js'
import { petToJson, toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import { PET_STATUSES } from '../../src/pets/specification.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
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
  let waiting: Insert[] = []
  let lastTurn: Promise<unknown> = Promise.resolve()
  let cancelIdle = () => {}
  let closing: Promise<void> | undefined

  return {
    async insert(given) {
      refuseWhenClosed()
      const pet = readNewPet(given)
      return new Promise((resolve, reject) => {
        if (waiting.push({ pet, resolve, reject }) === 1) void inTurn(commit)
      })
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

  /** Writes all waiting inserts, and makes them visible once they are durable. */
  async function commit(): Promise<void> {
    // The callers of the previous commit are about to insert again.
    await new Promise(setImmediate)
    const inserts = waiting
    waiting = []
    for (let start = 0; start < inserts.length; ) {
      const end = endOfBatch(inserts, start)
      await commitBatch(inserts.slice(start, end))
      start = end
    }
    cancelIdle()
    cancelIdle = whenIdle(() => void inTurn(async () => files.compact('idle')))
    files.compact('busy')
  }

  async function commitBatch(inserts: readonly Insert[]): Promise<void> {
    const { index } = files
    try {
      await files.append(encodeBatch(linesOf(inserts, index.nextId())))
    } catch (error) {
      for (const { reject } of inserts) reject(error)
      return
    }
    for (const { pet, resolve } of inserts) resolve(index.insert(pet))
  }

  function close(): Promise<void> {
    closing ??= inTurn(() => {
      cancelIdle()
      return files.close()
    })
    return closing
  }

  function refuseWhenClosed(): void {
    if (closing) throw new JsonFileError(path, 'is closed')
  }
}

interface Insert {
  readonly pet: NewPet
  readonly resolve: (pet: Pet) => void
  readonly reject: (error: unknown) => void
}

/** Bounds the time that serializing a batch blocks the process, and the length of its text. */
function endOfBatch(inserts: readonly Insert[], start: number): number {
  let length = 0
  let end = start
  for (; end < inserts.length; end++) {
    length += (inserts[end] as Insert).pet.name.length + OTHER_FIELDS
    if (length > BATCH && end > start) break
  }
  return end
}

/** In characters, as the next one. A longer pet is a batch of its own. */
const BATCH = 1_048_576
const OTHER_FIELDS = 100

function linesOf(inserts: readonly Insert[], firstId: number): string {
  if (firstId + inserts.length > Number.MAX_SAFE_INTEGER) throw new RangeError('No id is left')
  return inserts.map(({ pet }, at) => `${petToJson(toPet(firstId + at, pet))}\n`).join('')
}

/** @throws TypeError for a pet that could not be read again */
function readNewPet({ name, categoryId, status }: NewPet): NewPet {
  if (typeof name !== 'string') throw invalid('name', 'a string', name)
  if (!isInt64(categoryId)) throw invalid('categoryId', INTEGER, categoryId)
  if (status !== undefined && !PET_STATUSES.includes(status)) {
    throw invalid('status', `one of ${PET_STATUSES.join(', ')}`, status)
  }
  return { name, categoryId: shortestForm(categoryId), status }
}

const INTEGER = `an integer from ${INT64_RANGE.minimum} to ${INT64_RANGE.maximum}`

function invalid(field: keyof NewPet, rule: string, value: unknown): TypeError {
  return new TypeError(`Expected \`${field}\` to be ${rule}, got ${String(value)}`)
}
