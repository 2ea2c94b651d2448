import type { Decision, Usage } from '../../src/limits/decide.js'
import type { Policy } from '../../src/limits/plans.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../src/ports.js'
import { memoryRateLimits } from '../memory.js'
import type { RedisConnection } from './connect.js'
import { explain } from './failures.js'
import { createHeld } from './held.js'
import { PROBES, probe } from './probe.js'
import { consume, readUsage, storeCommand } from './script.js'
import { inTime } from './time-limit.js'

export interface RedisRateLimits extends RateLimitStore, AsyncDisposable {
  inspect(partition: string): Promise<Usage | undefined>
  reset(partition?: string): Promise<void>
  dump(): Promise<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Promise<void>
  serverOf(partition: string): string
  /**
   * Resolves if every server decides within a second, as it does for requests.
   * @throws RedisError
   */
  ping(): Promise<void>
  /** Closes the connection unless it is the host's. */
  close(): Promise<void>
}

export interface RateLimitParts {
  /** The server's name in messages. */
  readonly address: string
  readonly connection: RedisConnection
  readonly prefix: string
  readonly clock: 'server' | 'store'
  readonly lease: number
}

/** A lease on its way. */
interface Lease {
  readonly since: number
  readonly decision: Promise<Decision>
}

/** Callers without a valid key are counted in this process, so strangers cannot fill the server. */
const ADDRESS = 'addr:'

/** In ms. */
const PING_TIMEOUT = 1_000
/** How long others wait for a lease before they ask for their own, in ms. */
const LEASE_PATIENCE = 1_000

export function createRateLimits(parts: RateLimitParts): RedisRateLimits {
  const { address, connection, prefix, clock, lease } = parts
  const { send, nodes, serverOf, close } = connection
  const addresses = memoryRateLimits()
  const held = createHeld(clock, inspect)
  const leases = new Map<string, Lease>()

  return {
    consume(partition, policy, now) {
      if (!Number.isFinite(now)) throw new RangeError(`Expected the clock to be finite, got ${now}`)
      if (partition.startsWith(ADDRESS)) return addresses.consume(partition, policy, now)
      const decision = held.decide(partition, policy, now)
      if (decision) return decision
      // Small plans are counted one by one: a lease is at most a hundredth of a minute.
      if (lease === 1 || policy.perMinute < 100 * lease) return count(partition, policy, now, 1)
      return consumeLeased(partition, policy, now)
    },
    inspect,
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
    serverOf: partition => (partition.startsWith(ADDRESS) ? ADDRESS : serverOf(prefix + partition)),
    async ping() {
      await inTime(PING_TIMEOUT, probe(connection, prefix)).catch(fail)
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  /** Requests that arrive while a lease is on its way wait for it, and share it. */
  async function consumeLeased(partition: string, policy: Policy, now: number): Promise<Decision> {
    for (;;) {
      const decision = held.decide(partition, policy, now)
      if (decision) return decision
      const other = leases.get(partition)
      if (!other || performance.now() - other.since > LEASE_PATIENCE) break
      const { code } = await other.decision
      if (code !== undefined) return count(partition, policy, now, 1)
    }
    const own = { since: performance.now(), decision: count(partition, policy, now, lease) }
    leases.set(partition, own)
    try {
      return await own.decision
    } finally {
      if (leases.get(partition) === own) leases.delete(partition)
    }
  }

  async function count(
    partition: string,
    policy: Policy,
    now: number,
    units: number,
  ): Promise<Decision> {
    const returned = held.giveBack(partition, now)
    const instant = clock === 'store' ? now : undefined
    const sent = performance.now()
    const request = { policy, now: instant, units, returned }
    const { decision, state } = await consume(send, prefix + partition, request).catch(fail)
    const isKept = decision.code === undefined || decision.code === 'api_key_banned'
    const trip = { sent, received: performance.now() }
    held.settle(partition, policy, isKept ? state : undefined, trip)
    return decision
  }

  async function inspect(partition: string): Promise<Usage | undefined> {
    if (partition.startsWith(ADDRESS)) return addresses.inspect(partition)
    const key = prefix + partition
    const stored = await ask(['GET', key], key)
    return stored === null ? undefined : readUsage(String(stored))
  }

  async function reset(partition?: string): Promise<void> {
    held.forget(partition)
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
    const probes = prefix + PROBES
    // Escapes the special characters of glob patterns.
    const pattern = `${prefix.replace(/[\\*?[\]^-]/g, '\\$&')}*`
    for (const node of await nodes()) {
      let cursor = '0'
      do {
        const reply = await node(['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000'])
        const [next, found] = reply as [unknown, unknown[]]
        for (const key of found.map(String)) if (!key.startsWith(probes)) keys.add(key)
        cursor = String(next)
      } while (cursor !== '0')
    }
    return [...keys]
  }
}
