import { indexedDbStorage } from '../../../adapters/stores/indexeddb/index.js'
import { once } from '../kit/once.js'

export { indexedDbStorage }

export interface Task {
  /** Begins the names of its animals. */
  readonly owner: string
  readonly isKeyed: boolean
  /** Names that nobody acknowledged, to be created first. */
  readonly again: readonly string[]
}

/** A create has begun or, with an id, was acknowledged. */
export interface Progress {
  readonly owner: string
  readonly name: string
  readonly id?: number
}

/** Creates animals, three at a time. */
export async function createForever(
  { owner, isKeyed, again }: Task,
  report: (progress: string) => unknown,
): Promise<void> {
  const storage = indexedDbStorage('pets', { timeout: 600_000 })
  const names = [...again]
  let count = 0
  const createNext = async (): Promise<void> => {
    const name = names.pop() ?? `${owner}-${count++}`
    report(JSON.stringify({ owner, name }))
    const pet = { name, categoryId: 1 }
    const { id } = isKeyed
      ? (await storage.insertOnce(pet, once(name, 1e15), 0)).pet
      : await storage.insert(pet)
    report(JSON.stringify({ owner, name, id }))
    return createNext()
  }
  await Promise.all([createNext(), createNext(), createNext()])
}
