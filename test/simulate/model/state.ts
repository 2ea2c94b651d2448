import type { Pet } from '../../../src/index.js'
import type { WireRequest } from '../network.js'
import type { Limits } from '../scenario.js'
import { createKeyModel, type KeyModel } from './keys.js'
import { createLimitModel, type LimitModel } from './limits.js'
import { createPetHistory, type PetHistory } from './pet-history.js'
import { seen } from './pets.js'
import { tokenOf } from './requests.js'

export interface KeyRecord {
  readonly id: string
  readonly policy: Limits
  readonly expires?: number | undefined
}

/** What is stored and counted. */
export interface ModelState {
  readonly history: PetHistory
  readonly limits: LimitModel
  /** The API keys that are valid now. */
  readonly keys: Map<string, KeyRecord>
  /** Idempotency keys. */
  readonly used: KeyModel
  /** What is under way will never end: the process is dead. */
  crash(): void
  /** One in which nothing is stored or counted. */
  empty(keys: ReadonlyMap<string, KeyRecord>): ModelState
  /** A copy with other keys, and these animals, which are all that it has. */
  copy(pets: readonly Pet[], nextId: number, keys: ReadonlyMap<string, KeyRecord>): ModelState
}

/** @param onFree as for `createKeyModel` */
export function createState(idempotencyMs: number | null, onFree: () => void): ModelState {
  return stateOf(new Map(), createLimitModel())

  function stateOf(keys: Map<string, KeyRecord>, limits: LimitModel): ModelState {
    const history = createPetHistory()
    const used = createKeyModel(idempotencyMs ?? 0, onFree)
    return {
      ...{ history, limits, keys, used },
      crash() {
        history.crash()
        used.crash()
      },
      empty: keys => stateOf(new Map(keys), createLimitModel()),
      copy(pets, nextId, keys) {
        const copy = stateOf(new Map(keys), createLimitModel(limits.budgets()))
        copy.history.replace(pets.map(seen), pets.map(seen), nextId)
        copy.used.replace(used.save())
        return copy
      },
    }
  }
}

/** The record of the API key that a request has, if it is valid. */
export function keyOf(
  { keys }: ModelState,
  request: WireRequest,
  now: number,
): KeyRecord | undefined {
  const known = keys.get(tokenOf(request) ?? '')
  return known?.expires !== undefined && now >= known.expires ? undefined : known
}
