import type { WireRequest } from '../network.js'
import type { Limits } from '../scenario.js'
import { createKeyModel, type KeyModel } from './keys.js'
import { createLimitModel, type LimitModel } from './limits.js'
import { createPetHistory, type PetHistory } from './pet-history.js'
import { tokenOf } from './requests.js'

export interface KeyRecord {
  readonly id: string
  readonly policy: Limits
  readonly expires?: number | undefined
}

export interface ModelState {
  readonly history: PetHistory
  readonly limits: LimitModel
  /** The API keys that are valid now. */
  readonly keys: Map<string, KeyRecord>
  /** Idempotency keys. */
  readonly used: KeyModel
  /** Calls in progress will never end: the process is dead. */
  crash(): void
}

/** @param onFree as for `createKeyModel` */
export function createState(idempotencyMs: number | null, onFree: () => void): ModelState {
  const history = createPetHistory()
  const used = createKeyModel(idempotencyMs ?? 0, onFree)
  return {
    ...{ history, used, limits: createLimitModel(), keys: new Map() },
    crash() {
      history.crash()
      used.crash()
    },
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
