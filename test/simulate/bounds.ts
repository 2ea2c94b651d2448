import type { PetSnapshot, RateLimitSnapshot } from '../../src/index.js'
import type { Setting } from './scenario.js'
import { ensure } from './violation.js'

const DAY = 86_400_000
/** A clock that steps back further loses its counts. */
const SKEW = 60_000
/** Keys that are over are dropped when that many others have come. */
const MOST_OVER = 1_000

/** Counts are kept of those who are known, for a day or as long as a ban is remembered. */
export function ensureFewCounts(counts: RateLimitSnapshot, { actors }: Setting): void {
  const addresses = actors.map(({ address }) => `addr:${address}`)
  const known = new Set([...actors.map(({ name }) => name), ...addresses])
  const latest = Math.max(...counts.map(([, { lastSeenAt }]) => lastSeenAt))
  const today = Math.floor((latest - SKEW) / DAY) * DAY
  for (const [partition, { lastSeenAt, bannedUntil }] of counts) {
    const message = () => `counts of ${partition} are kept, used ${latest - lastSeenAt} ms ago`
    ensure(known.has(partition), 'memory.bounded', message)
    ensure(Math.max(lastSeenAt, bannedUntil + DAY) >= today, 'memory.bounded', message)
  }
}

/**
 * Idempotency keys are kept as long as they are in use, and some of them longer.
 *
 * @param opened how many there were when the storage was opened
 */
export function ensureFewKeys(
  { idempotencyKeys = [] }: PetSnapshot,
  opened: number,
  { idempotencyMs }: Setting,
): void {
  const ends = idempotencyKeys.map(({ expiresAt }) => expiresAt)
  const latest = ends.reduce((one, other) => Math.max(one, other), 0) - (idempotencyMs ?? 0)
  const over = ends.filter(end => end <= latest).length
  const message = () => `${over} idempotency keys are kept that are over, and ${opened} were opened`
  ensure(over <= opened + MOST_OVER, 'memory.bounded', message)
}
