import type { RedisConnection } from './connect.js'
import { consume } from './script.js'

/** What follows the prefix in the keys of a probe. No API key has them: no id begins with `addr:`. */
export const PROBES = 'addr:probe-'

/** Enough to find one key for each of 200 servers. */
const MOST_KEYS = 2_000

/**
 * Does on every server what a request does, and cleans up: so it finds replicas, full servers and
 * missing permissions.
 */
export async function probe(connection: RedisConnection, prefix: string): Promise<void> {
  const tries = keysOf(connection, prefix).map(async key => {
    await consume(connection.send, key, { policy: { perMinute: 1, perDay: 1 }, now: undefined })
    await connection.send(['DEL', key], key)
  })
  await Promise.all(tries)
}

/** A key on each server. */
function keysOf({ servers, serverOf }: RedisConnection, prefix: string): string[] {
  const keys = new Map<string, string>()
  const wanted = servers().length
  for (let n = 0; keys.size < wanted && n < MOST_KEYS; n++) {
    const key = `${prefix}${PROBES}${n}`
    const server = serverOf(key)
    if (!keys.has(server)) keys.set(server, key)
  }
  return [...keys.values()]
}
