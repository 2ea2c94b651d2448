import type { ConnectionOptions } from 'node:tls'
import {
  isBoolean,
  isCount,
  isFunction,
  isOneOf,
  isSecretObject,
  isString,
  isText,
  isTimeout,
  OptionError,
  optional,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import { connect, type RedisConnection } from './connect.js'
import { explain, isPassing } from './failures.js'
import { probe } from './probe.js'
import { createRateLimits, type RedisRateLimits } from './rate-limits.js'
import { notConnected, withReconnect } from './reconnect.js'
import type { RedisSend } from './send.js'
import { inTime } from './time-limit.js'

export interface RedisOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss:`, `valkey:`, `valkeys:`; give this or `send`.
   * @default none
   */
  readonly url?: string
  /**
   * Sends a command through a client of the host, which stays open on `close`.
   * @default none
   */
  readonly send?: RedisSend
  /**
   * With `send` to a cluster: one `send` per primary, for `dump` and `reset`.
   * @default `send` alone
   */
  readonly nodes?: () => Promise<readonly RedisSend[]>
  /**
   * The prefix of every key.
   * @default 'adoption:limit:'
   */
  readonly prefix?: string
  /**
   * The clock in use: the server's, shared by all processes, or the store's, for tests.
   * @default 'server'
   */
  readonly clock?: 'server' | 'store'
  /**
   * How many units a process takes in one round trip, on plans of at least a hundred times as many
   * a minute; what it does not use in its minute is lost to the other processes.
   * @default 1
   */
  readonly lease?: number
  /**
   * The time limit for connecting and for the first reply, in ms.
   * @default 5_000
   */
  readonly connectTimeoutMs?: number
  /**
   * `false` also opens while the server is unreachable, and connects later: until then the process
   * counts by itself. A problem that does not end by itself, such as a wrong password, is still an error.
   * @default true
   */
  readonly required?: boolean
  /**
   * For `rediss:`, options of `tls.connect` such as `ca`.
   * @default none
   */
  readonly tls?: ConnectionOptions
}

/**
 * Counts usage in Redis or Valkey, for any number of processes. Opening connects, to a cluster as
 * well, and tries the script once.
 *
 * @throws OptionError
 * @throws RedisError when the server cannot be used: one line that names the fix
 */
export async function redisRateLimits(options: RedisOptions): Promise<RedisRateLimits> {
  const settings = readOptions(options, DEFAULTS, RULES)
  const { address, open } = accessOf(settings)
  const openTried = async () => {
    const connection = await open()
    try {
      await inTime(settings.connectTimeoutMs, probe(connection, settings.prefix))
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }
  const opened = await openTried().catch(error => {
    const failure = explain(error, address)
    if (settings.required || !isPassing(error)) throw failure
    return notConnected(failure)
  })
  const connection = settings.url === undefined ? opened : withReconnect(opened, openTried)
  return createRateLimits({ ...settings, address, connection })
}

interface Server {
  /** The URL without user and password, for messages. */
  readonly address: string
  readonly open: () => Promise<RedisConnection>
}

type Access = Pick<RedisOptions, 'url' | 'send' | 'nodes' | 'tls'> & {
  readonly connectTimeoutMs: number
}

function accessOf({ url, send, nodes, tls, connectTimeoutMs }: Access): Server {
  if ((url === undefined) === (send === undefined)) {
    const problem = { option: 'url', expected: 'an address, unless `send` is given' }
    throw new OptionError(problem, 'Expected either `url` or `send`')
  }
  if (url !== undefined) {
    const open = async () => {
      const given = new AbortController()
      try {
        const access = { url, tls, connectTimeoutMs, signal: given.signal }
        return await inTime(connectTimeoutMs, connect(access))
      } catch (error) {
        given.abort()
        throw error
      }
    }
    return { address: addressOf(url), open }
  }
  const given = send as RedisSend
  const connection: RedisConnection = {
    send: given,
    nodes: nodes ?? (async () => [given]),
    servers: () => [''],
    // Which node of a cluster has a key is known to the client of the host only: each key for itself.
    serverOf: nodes ? key => key : () => '',
    close: async () => {},
  }
  return { address: 'The server of `send`', open: async () => connection }
}

/** @throws OptionError without the URL in it: it may hold a password */
export function addressOf(url: string): string {
  if (!/^(redis|valkey)s?:\/\//.test(url) || !URL.canParse(url)) {
    throw new OptionError({
      option: 'url',
      expected: 'like redis://user:password@host:6379/0',
    })
  }
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

const DEFAULTS = {
  prefix: 'adoption:limit:',
  clock: 'server',
  lease: 1,
  connectTimeoutMs: 5_000,
  required: true,
} as const

const RULES: Rules<RedisOptions> = {
  url: optional(isString),
  send: optional(isFunction),
  nodes: optional(isFunction),
  prefix: isText,
  clock: isOneOf(['server', 'store']),
  lease: isCount,
  connectTimeoutMs: isTimeout,
  required: isBoolean,
  tls: optional(isSecretObject),
}
