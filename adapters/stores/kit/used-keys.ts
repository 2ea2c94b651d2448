import type { Once, UsedKey } from '../../../src/ports.js'

type Use = Omit<UsedKey, 'scope' | 'idempotencyKey'>

/** Keeps keys until they expire. Without a timer: added keys drop the expired ones. */
export function createUsedKeys() {
  const scopes = new Map<string, Map<string, Use>>()
  let size = 0
  let added = 0

  return {
    find({ scope, idempotencyKey }: Pick<Once, 'scope' | 'idempotencyKey'>, now: number) {
      const use = scopes.get(scope)?.get(idempotencyKey)
      return use && now < use.expiresAt ? use : undefined
    },
    add({ scope, idempotencyKey, fingerprint, expiresAt, petId }: UsedKey, now: number): void {
      const keys = scopes.get(scope) ?? new Map<string, Use>()
      scopes.set(scope, keys)
      // Deleted first, so that the oldest keys stay in front.
      if (!keys.delete(idempotencyKey)) size++
      keys.set(idempotencyKey, { fingerprint, expiresAt, petId })
      if (++added % SWEEP_EVERY === 0) sweep(now)
    },
    /** Per scope, in order of first use. */
    *list(): Iterable<UsedKey> {
      for (const [scope, keys] of scopes) {
        for (const [idempotencyKey, use] of keys) yield { scope, idempotencyKey, ...use }
      }
    },
    size: () => size,
  }

  function sweep(now: number): void {
    for (const [scope, keys] of scopes) {
      for (const [key, { expiresAt }] of keys) {
        if (now < expiresAt) break
        keys.delete(key)
        size--
      }
      if (keys.size === 0) scopes.delete(scope)
    }
  }
}

/** Rarely, because a Map slowly steps over deleted entries in front. */
const SWEEP_EVERY = 1_000
