import type { RedisClient } from './connect.js'
import { consume } from './script.js'

/** Follows the prefix in the keys of a probe. No API key has them: no id begins with `addr:`. */
export const PROBES = 'addr:probe-'

/** Enough for every server of a small cluster to have one. */
const KEYS = 16

/** Acts like a request and cleans up, to find replicas, full servers and missing permissions. */
export async function probe(client: RedisClient, prefix: string): Promise<void> {
  const tries = Array.from({ length: KEYS }, async (_, n) => {
    const key = `${prefix}${PROBES}${n}`
    await consume(client, key, { limits: { perMinute: 1, perDay: 1 }, now: undefined })
    await client.call('DEL', key)
  })
  await Promise.all(tries)
}
