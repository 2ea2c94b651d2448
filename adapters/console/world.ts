import type { Usage } from '../../src/limits/decide.js'
import { PLANS, type PlanTable, type Policy } from '../../src/limits/plans.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { Store } from '../../src/store.js'
import type { ConsoleWorld } from './options.js'

/** What the page shows of a world at one moment, as JSON. */
export interface WorldState {
  readonly now: number
  readonly frozen: boolean
  readonly keys: readonly KeyState[]
  /** How many more there are. */
  readonly moreKeys: number
}

export interface KeyState {
  readonly id: string
  readonly plan: string
  readonly policy: Policy
  /** The key itself, if it is public. */
  readonly key: string | null
  readonly usage: Usage | null
}

/** More keys than anyone would look at. */
const MAX_KEYS = 50

export async function stateOf(world: ConsoleWorld): Promise<WorldState> {
  const plans = { ...PLANS, ...world.plans }
  const all = Object.entries(world.apiKeys())
  const records = all.slice(0, MAX_KEYS)
  const keys = await Promise.all(
    records.map(async ([key, { id, plan, limits }]) => ({
      id,
      plan,
      policy: world.policyOf?.(key) ?? limits ?? plans[plan as keyof PlanTable],
      key: world.isPublicKey(key) ? key : null,
      usage: await usageOf(world, id),
    })),
  )
  const moreKeys = all.length - records.length
  return { now: world.clock(), frozen: world.isFrozen(), keys, moreKeys }
}

/** What a store, or a handler around one, knows of its keys: the limits that really apply. */
export function policiesOf(handler: ApiHandler): ConsoleWorld['policyOf'] {
  const { apiKeys } = handler as Partial<Pick<Store, 'apiKeys'>>
  return typeof apiKeys?.find === 'function' ? key => apiKeys.find(key)?.policy : undefined
}

/** Null also while the store that counts is unavailable. */
async function usageOf(world: ConsoleWorld, keyId: string): Promise<Usage | null> {
  try {
    return (await world.usage?.(keyId)) ?? null
  } catch {
    return null
  }
}
