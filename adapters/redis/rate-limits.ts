import type { Usage } from '../../src/limits/decide.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../src/ports.js'
import { memoryRateLimits } from '../memory.js'
import type { CircuitBreaker } from './circuit-breaker.js'
import { explain } from './failures.js'
import { consume, readUsage, storeCommand } from './script.js'
import type { RedisSend } from './send.js'

export interface RedisRateLimits extends RateLimitStore, AsyncDisposable {
  inspect(partition: string): Promise<Usage | undefined>
  reset(partition?: string): Promise<void>
  dump(): Promise<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Promise<void>
  /**
   * Resolves if the server answers.
   * @throws RedisError
   */
  ping(): Promise<void>
  /** Closes the connection unless it is the host's. */
  close(): Promise<void>
}

export interface RateLimitParts {
  /** The server's name in messages. */
  readonly address: string
  readonly send: RedisSend
  readonly breaker: CircuitBreaker
  /** One `send` per server that holds keys. */
  readonly nodes: () => Promise<readonly RedisSend[]>
  readonly prefix: string
  readonly clock: 'server' | 'store'
  readonly close: () => Promise<void>
}

/** Callers without a valid key are counted in this process, so strangers cannot fill the server. */
const ADDRESS = 'addr:'

export function createRateLimits(parts: RateLimitParts): RedisRateLimits {
  const { address, send, breaker, nodes, prefix, clock, close } = parts
  const addresses = memoryRateLimits()

  return {
    consume(partition, policy, now) {
      if (!Number.isFinite(now)) throw new RangeError(`Expected the clock to be finite, got ${now}`)
      if (partition.startsWith(ADDRESS)) return addresses.consume(partition, policy, now)
      const instant = clock === 'store' ? now : undefined
      return breaker.run(() => consume(send, prefix + partition, policy, instant)).catch(fail)
    },
    async inspect(partition) {
      if (partition.startsWith(ADDRESS)) return addresses.inspect(partition)
      const key = prefix + partition
      const stored = await ask(['GET', key], key)
      return stored === null ? undefined : readUsage(String(stored))
    },
    reset,
    async dump() {
      const keys = await allKeys()
      const stored = await Promise.all(keys.map(key => ask(['GET', key], key)))
      const counted = keys.flatMap((key, at) =>
        // It may have expired since the scan.
        stored[at] === null
          ? []
          : [[key.slice(prefix.length), readUsage(String(stored[at]))] as const],
      )
      return [...(await addresses.dump()), ...counted]
    },
    async restore(snapshot) {
      await reset()
      await addresses.restore(snapshot.filter(([partition]) => partition.startsWith(ADDRESS)))
      const commands = snapshot
        .filter(([partition]) => !partition.startsWith(ADDRESS))
        .map(([partition, usage]) => storeCommand(prefix + partition, usage))
      await Promise.all(commands.map(command => ask(command, command[1])))
    },
    async ping() {
      await ask(['PING'])
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  async function reset(partition?: string): Promise<void> {
    addresses.reset(partition)
    const keys = partition === undefined ? await allKeys() : [prefix + partition]
    await Promise.all(keys.map(key => ask(['DEL', key], key)))
  }

  function ask(command: readonly string[], key?: string): Promise<unknown> {
    return send(command, key).catch(fail)
  }

  function fail(error: unknown): never {
    throw explain(error, address)
  }

  async function allKeys(): Promise<string[]> {
    const keys = new Set<string>()
    // Escapes the special characters of glob patterns.
    const pattern = `${prefix.replace(/[\\*?[\]^-]/g, '\\$&')}*`
    for (const node of await nodes()) {
      let cursor = '0'
      do {
        const reply = await node(['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000'])
        const [next, found] = reply as [unknown, unknown[]]
        for (const key of found) keys.add(String(key))
        cursor = String(next)
      } while (cursor !== '0')
    }
    return [...keys]
  }
}
