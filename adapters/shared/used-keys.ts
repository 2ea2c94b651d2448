import type { Once, UsedKey } from '../../src/ports.js'

/** Idempotency keys by scope and key. */
export interface UsedKeys {
  /** The key, if it is in use. */
  find(once: Pick<Once, 'scope' | 'key'>, now: number): UsedKey | undefined
  add(used: UsedKey, now: number): void
  /** In the order in which they were used. */
  list(): Iterable<UsedKey>
  size(): number
}

/**
 * Keeps keys in memory until they expire. There is no timer: expired keys are dropped while others
 * are added, so no more than those of one lifetime are kept, plus `SWEEP_EVERY`.
 */
export function createUsedKeys(begin: Iterable<UsedKey> = []): UsedKeys {
  const keys = new Map<string, UsedKey>()
  let added = 0
  for (const used of begin) keys.set(nameOf(used), Object.freeze({ ...used }))

  return {
    find(once, now) {
      const used = keys.get(nameOf(once))
      return used && now < used.expiresAt ? used : undefined
    },
    add(used, now) {
      const name = nameOf(used)
      // Deleted first, so that the oldest keys stay in front.
      keys.delete(name)
      keys.set(name, Object.freeze({ ...used }))
      if (++added % SWEEP_EVERY === 0) sweep(now)
    },
    list: () => keys.values(),
    size: () => keys.size,
  }

  function sweep(now: number): void {
    for (const [name, used] of keys) {
      if (now < used.expiresAt) return
      keys.delete(name)
    }
  }
}

/** Not at every key: a Map steps over what was deleted in front, which takes time. */
const SWEEP_EVERY = 1_000

/** The length keeps scope and key apart: both may contain anything. */
function nameOf({ scope, key }: Pick<Once, 'scope' | 'key'>): string {
  return `${scope.length} ${scope}${key}`
}
