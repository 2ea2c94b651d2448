import type { Pet } from '../../src/pets/schema.js'
import type { PetSnapshot, UsedKey } from '../../src/ports.js'
import { PART } from '../storage/pet-stream.js'
import type { Row } from './driver.js'
import type { Keys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import type { Statements } from './statements.js'

/** All that a storage holds. Every method is a part of a transaction. */
export interface Content {
  nextId(): number
  count(): number
  read(): PetSnapshot
  /** In parts, by ascending id. */
  readPets(): Iterable<readonly Pet[]>
  /** In parts, in the order in which they were used. */
  readKeys(): Iterable<readonly UsedKey[]>
  clear(): void
  write(pets: readonly Pet[], keys: readonly UsedKey[]): void
  /** Call it last. @param written how many pets */
  setNextId(nextId: number, written: number): void
}

export function createContent(statements: Statements, keys: Keys): Content {
  const nextId = () => (statements.nextId.get() as Row)['next']
  return {
    nextId,
    count: () => (statements.count.get() as Row)['count'],
    read() {
      const idempotencyKeys = [...keys.readParts(PART)].flat()
      return {
        pets: [...readPets()].flat(),
        nextId: nextId(),
        ...(idempotencyKeys.length > 0 && { idempotencyKeys }),
      }
    },
    readPets,
    readKeys: () => keys.readParts(PART),
    clear() {
      keys.removeAll()
      statements.deleteAll.run()
    },
    write(pets, used) {
      for (const pet of pets) statements.insert.run(pet.id, ...toRow(pet))
      for (const one of used) keys.use(one)
    },
    setNextId(next, written) {
      statements.setNextId.run(next, next - 1 - written)
    },
  }

  function* readPets() {
    for (let page = readAfter(0); page.length > 0; page = readAfter(page.at(-1)?.id ?? 0)) {
      yield page
    }
  }

  function readAfter(id: number) {
    return statements.list.all(id, PART).map(fromRow)
  }
}
