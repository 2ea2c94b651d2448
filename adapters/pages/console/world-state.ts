import { PLANS, type PlanTable } from '../../../src/limits/plans.js'
import type { Usage } from '../../../src/limits/windows-and-bans.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import type { Store } from '../../../src/store.js'
import type { ConsoleWorld } from './console-options.js'

export type WorldState = Awaited<ReturnType<typeof stateOf>>
export type KeyState = WorldState['keys'][number]

const MAX_KEYS = 50

export async function stateOf(world: ConsoleWorld) {
  const plans = { ...PLANS, ...world.plans }
  const all = Object.entries(world.apiKeys())
  const keys = all.slice(0, MAX_KEYS).map(async ([key, { id, plan, limits }]) => ({
    id,
    plan,
    limits: world.limitsOf?.(key) ?? limits ?? plans[plan as keyof PlanTable],
    apiKey: world.isPublicKey(key) ? key : null,
    /** Null also while the rate limit store is unavailable. */
    usage: await usageOf(world, id).catch(() => null),
  }))
  return {
    now: world.clock(),
    frozen: world.isFrozen(),
    keys: await Promise.all(keys),
    moreKeys: Math.max(0, all.length - MAX_KEYS),
  }
}

/** The limits that the handler really applies, if it is a store or a wrapper around one. */
export function limitsOf(handler: ApiHandler): ConsoleWorld['limitsOf'] {
  const { apiKeys } = handler as Partial<Pick<Store, 'apiKeys'>>
  return typeof apiKeys?.find === 'function' ? key => apiKeys.find(key)?.limits : undefined
}

async function usageOf(world: ConsoleWorld, keyId: string): Promise<Usage | null> {
  return (await world.usage?.(keyId)) ?? null
}
