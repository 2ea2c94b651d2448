import type { ConnectionOptions } from 'node:tls'
import {
  hasMethods,
  isOneOf,
  isSecretObject,
  isString,
  isText,
  OptionError,
  type OptionsOf,
  optional,
  settingsOf,
  typed,
  withDefault,
} from '../../src/lib/check-options.js'
import { isTimeout } from '../../src/lib/time.js'
import { openAtUse } from '../stores/kit/open-at-use.js'
import { serverAddress } from '../stores/kit/server-address.js'
import { inTime } from '../stores/kit/time-limit.js'
import { connect, type RedisClient, type RedisConnection } from './connect.js'
import { explain, isPassing, RedisError } from './failures.js'
import { probe } from './probe.js'
import { ADDRESS, createRateLimits, type RedisRateLimitStore } from './rate-limits.js'

export const REDIS_OPTIONS = {
  /** `redis://user:password@host:6379/0`, or `rediss:`, `valkey:`, `valkeys:`; give this or `client`. @default none */
  url: optional(isString),
  /** A `Redis` or `Cluster` of ioredis, which stays open on `close`. @default none */
  client: optional(typed<RedisClient>(hasMethods('call'))),
  /** The prefix of every key. @default 'adoption:limit:' */
  prefix: withDefault(isText, 'adoption:limit:'),
  /**
   * The time in use: the server's, shared by all processes, or the store's `clock`, for tests.
   * @default 'server'
   */
  time: withDefault(isOneOf(['server', 'store']), 'server'),
  /** The time limit for connecting and for the first reply. @default '5s' */
  connectTimeout: withDefault(isTimeout, '5s'),
  /** For `rediss:`, options of `tls.connect` such as `ca`. @default none */
  tls: optional(typed<ConnectionOptions>(isSecretObject)),
}
/**
 * @example
 * import { redisRateLimitStore } from 'animal-adoption-store/redis'
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis('redis://127.0.0.1:6379')
 * const rateLimitStore = redisRateLimitStore({ client, prefix: 'adoption:' })
 * client.disconnect()
 */
export interface RedisOptions extends OptionsOf<typeof REDIS_OPTIONS> {}

/**
 * Counts usage in Redis or Valkey, for any number of processes. The first call connects. While the
 * server cannot be used, a store counts by itself, and the connection is retried in the background.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 * import { redisRateLimitStore } from 'animal-adoption-store/redis'
 *
 * const rateLimitStore = redisRateLimitStore({ url: 'redis://127.0.0.1:6379' })
 * const store = createStore({ storage: memoryStorage(), rateLimitStore, apiKeys: {} })
 * await rateLimitStore.close()
 */
export function redisRateLimitStore(options: RedisOptions): RedisRateLimitStore {
  const settings = settingsOf(REDIS_OPTIONS, options)
  const { prefix, time, connectTimeout: connectTimeoutMs, url, client } = settings
  if ((url === undefined) === (client === undefined)) {
    const problem = { option: 'url', expected: 'an address, unless `client` is given' }
    throw new OptionError(problem, 'Expected either `url` or `client`')
  }
  const address = url === undefined ? 'The server of `client`' : addressOf(url)
  /** The first failure, which says more than a missing connection. */
  let failure: RedisError | undefined
  const { use, methods, close } = openAtUse(open, () => new RedisError(`${address}: closed`))
  return {
    ...methods('consume', 'inspect', 'reset', 'dump', 'restore', 'ping'),
    serverOf(partition) {
      if (partition.startsWith(ADDRESS)) return ADDRESS
      // ioredis hides which server of a cluster has a key: each key counts as one.
      return client?.nodes ? partition : ''
    },
    ready,
    close,
    [Symbol.asyncDispose]: close,
  }

  async function ready(): Promise<void> {
    await use(limits => failure && limits.ping().catch(() => Promise.reject(failure)))
  }

  async function open() {
    const connection: RedisConnection =
      url === undefined
        ? { ready: Promise.resolve(), client: client as RedisClient, close: async () => {} }
        : await connect({ url, tls: settings.tls, connectTimeoutMs })
    const tried = connection.ready.then(() => probe(connection.client, prefix))
    await inTime(connectTimeoutMs, tried).catch(async error => {
      failure = explain(error, address)
      // The client keeps trying.
      if (isPassing(failure)) return
      await connection.close()
      throw failure
    })
    return createRateLimits({ prefix, time, address, connection })
  }
}

export function addressOf(url: string): string {
  const schemes = ['redis:', 'rediss:', 'valkey:', 'valkeys:']
  return serverAddress(url, schemes, 'redis://user:password@host:6379/0')
}
