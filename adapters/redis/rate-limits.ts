import type { Usage } from '../../src/limits/windows-and-bans.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../src/ports.js'
import { inTime } from '../stores/kit/time-limit.js'
import { memoryRateLimitStore } from '../stores/memory.js'
import type { RedisConnection } from './connect.js'
import { explain } from './failures.js'
import { PROBES, probe } from './probe.js'
import { type Command, consume, readUsage, storeCommand } from './script.js'

export interface RedisRateLimitStore extends RateLimitStore, AsyncDisposable {
  inspect(partition: string): Promise<Usage | undefined>
  reset(partition?: string): Promise<void>
  dump(): Promise<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Promise<void>
  serverOf(partition: string): string
  /** Connects and probes the server. @throws RedisError in one line that names the fix */
  ready(): Promise<void>
  /** Resolves if every server decides within a second, as for requests. @throws RedisError */
  ping(): Promise<void>
  /** Closes the connection unless it is the host's. */
  close(): Promise<void>
}

export interface RateLimitParts {
  readonly address: string
  readonly connection: RedisConnection
  readonly prefix: string
  readonly time: 'server' | 'store'
}

/** Callers without a valid key are counted in this process, so strangers cannot fill the server. */
export const ADDRESS = 'addr:'

const PING_TIMEOUT_MS = 1_000

export function createRateLimits(
  parts: RateLimitParts,
): Omit<RedisRateLimitStore, 'ready' | 'serverOf' | typeof Symbol.asyncDispose> {
  const { address, connection, prefix, time } = parts
  const { close } = connection
  const addresses = memoryRateLimitStore()

  return {
    consume(partition, limits, now) {
      if (!Number.isFinite(now)) throw new RangeError(`Expected the clock to be finite, got ${now}`)
      if (partition.startsWith(ADDRESS)) return addresses.consume(partition, limits, now)
      const instant = time === 'store' ? now : undefined
      return consume(connection.client, prefix + partition, { limits, now: instant }).catch(fail)
    },
    inspect,
    reset,
    async dump() {
      const keys = await allKeys()
      const stored = await Promise.all(keys.map(key => ask('GET', key)))
      const counted = keys
        .map((key, at) => [key.slice(prefix.length), stored[at]] as const)
        // A key may have expired since the scan.
        .filter(([, value]) => value !== null)
        .map(([partition, value]) => [partition, readUsage(String(value))] as const)
      return [...(await addresses.dump()), ...counted]
    },
    async restore(snapshot) {
      const isAddress = ([partition]: RateLimitSnapshot[number]) => partition.startsWith(ADDRESS)
      await reset()
      await addresses.restore(snapshot.filter(isAddress))
      const commands = snapshot
        .filter(entry => !isAddress(entry))
        .map(([partition, usage]) => storeCommand(prefix + partition, usage))
      await Promise.all(commands.map(command => ask(...command)))
    },
    async ping() {
      await inTime(PING_TIMEOUT_MS, probe(connection.client, prefix)).catch(fail)
    },
    close,
  }

  async function inspect(partition: string): Promise<Usage | undefined> {
    if (partition.startsWith(ADDRESS)) return addresses.inspect(partition)
    const key = prefix + partition
    const stored = await ask('GET', key)
    return stored === null ? undefined : readUsage(String(stored))
  }

  async function reset(partition?: string): Promise<void> {
    addresses.reset(partition)
    const keys = partition === undefined ? await allKeys() : [prefix + partition]
    await Promise.all(keys.map(key => ask('DEL', key)))
  }

  function ask(...[name, ...words]: Command): Promise<unknown> {
    return connection.client.call(name, ...words).catch(fail)
  }

  function fail(error: unknown): never {
    throw explain(error, address)
  }

  async function allKeys(): Promise<string[]> {
    const keys = new Set<string>()
    const probes = prefix + PROBES
    const { client } = connection
    // ioredis adds it to the keys of commands, but not to patterns and replies.
    const keyPrefix = String(client.options?.keyPrefix ?? '')
    // Escapes the special characters of glob patterns.
    const pattern = `${(keyPrefix + prefix).replace(/[\\*?[\]^-]/g, '\\$&')}*`
    for (const node of client.nodes?.('master') ?? [client]) {
      let cursor = '0'
      do {
        const reply = await node.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000')
        const [next, found] = reply as [unknown, unknown[]]
        const own = found.map(key => String(key).slice(keyPrefix.length))
        for (const key of own) if (!key.startsWith(probes)) keys.add(key)
        cursor = String(next)
      } while (cursor !== '0')
    }
    return [...keys]
  }
}
