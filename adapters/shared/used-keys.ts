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
export function createUsedKeys(): UsedKeys {
  const keys = new Map<string, UsedKey>()
  let added = 0

  return {
    find(once, now) {
      const used = keys.get(nameOf(once))
      return used && now < used.expiresAt ? used : undefined
    },
    add(used, now) {
      const name = nameOf(used)
      // Deleted first, so that the oldest keys stay in front.
      keys.delete(name)
      const { scope, key, fingerprint, expiresAt, petId } = used
      keys.set(name, Object.freeze({ scope, key, fingerprint, expiresAt, petId }))
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

/**
 * Whether a value from a file is a used key: with these fields, and no others.
 */
export function isUsedKey(value: unknown): value is UsedKey {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 5) return false
  const { petId, ...once } = value as UsedKey
  return isOnce(once) && Number.isSafeInteger(petId) && petId > 0
}

/**
 * A copy of a key that a storage writes.
 *
 * @throws TypeError for a key that could not be read again
 */
export function readOnce({ scope, key, fingerprint, expiresAt }: Once): Once {
  const once = { scope, key, fingerprint, expiresAt }
  if (!isOnce(once)) throw new TypeError('Expected an idempotency key of texts and a time')
  return once
}

function isOnce({ scope, key, fingerprint, expiresAt }: Once): boolean {
  const isText = [scope, key, fingerprint].every(text => typeof text === 'string')
  return isText && Number.isFinite(expiresAt)
}

/** The length keeps scope and key apart: both may contain anything. */
function nameOf({ scope, key }: Pick<Once, 'scope' | 'key'>): string {
  return `${scope.length} ${scope}${key}`
}
