import { setTimeout as pause } from 'node:timers/promises'
import type { ConnectionOptions } from 'node:tls'
import {
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
import { createCircuitBreaker } from './circuit-breaker.js'
import { connect, type RedisConnection } from './connect.js'
import { explain } from './failures.js'
import { createRateLimits, type RedisRateLimits } from './rate-limits.js'
import { consume } from './script.js'
import type { RedisSend } from './send.js'

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
   * How long a request waits for the server, in ms, before this process counts by itself.
   * @default 100
   */
  readonly timeoutMs?: number
  /**
   * The time limit for connecting and for the first reply, in ms.
   * @default 5_000
   */
  readonly connectTimeoutMs?: number
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
  const { timeoutMs, ...settings } = readOptions(options, DEFAULTS, RULES)
  const { address, open } = accessOf(settings)
  let connection: RedisConnection | undefined
  try {
    connection = await open()
    await inTime(settings.connectTimeoutMs, tryScript(connection.send, settings.prefix))
  } catch (error) {
    await connection?.close()
    throw explain(error, address)
  }
  const holder = hold(connection, open)
  const send: RedisSend = (command, key) => holder.connection.send(command, key)
  const breaker = createCircuitBreaker({
    timeoutMs,
    ping: () => send(['PING']),
    reconnect: holder.replace,
    now: () => performance.now(),
  })
  return createRateLimits({
    ...settings,
    address,
    send,
    breaker,
    nodes: () => holder.connection.nodes(),
    close: holder.close,
  })
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
        return await inTime(connectTimeoutMs, connect({ url, tls, signal: given.signal }))
      } catch (error) {
        given.abort()
        throw error
      }
    }
    return { address: addressOf(url), open }
  }
  const given = send as RedisSend
  const connection = { send: given, nodes: nodes ?? (async () => [given]), close: async () => {} }
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

async function inTime<T>(ms: number, promise: Promise<T>): Promise<T> {
  const settled = new AbortController()
  try {
    return await Promise.race([promise, expire(ms, settled.signal)])
  } finally {
    settled.abort()
  }
}

/** Waits in steps, so a machine that stalls uses up one step rather than the whole limit. */
async function expire(ms: number, signal: AbortSignal): Promise<never> {
  for (let left = ms; left > 0; left -= STEP) {
    await pause(Math.min(left, STEP), undefined, { signal })
  }
  throw new Error(`Timeout after ${ms} ms`)
}

/** In ms. */
const STEP = 250

/** Detects replicas, full servers and missing permissions before the first request does. */
async function tryScript(send: RedisSend, prefix: string): Promise<void> {
  await consume(send, prefix, { perMinute: 1, perDay: 1 }, undefined)
  await send(['DEL', prefix], prefix)
}

/** Holds the current connection, which `replace` swaps for a new one. */
function hold(first: RedisConnection, open: () => Promise<RedisConnection>) {
  let connection = first
  let closed = false

  return {
    get connection() {
      return connection
    },
    replace(): void {
      open().then(async opened => {
        const old = closed ? opened : connection
        if (!closed) connection = opened
        await old.close()
      }, ignore)
    },
    async close(): Promise<void> {
      if (closed) return
      closed = true
      await connection.close()
    },
  }
}

/** The next ping fails as well, and a later one replaces the connection again. */
function ignore(): void {}

const DEFAULTS = {
  prefix: 'adoption:limit:',
  clock: 'server',
  timeoutMs: 100,
  connectTimeoutMs: 5_000,
} as const

const RULES: Rules<RedisOptions> = {
  url: optional(isString),
  send: optional(isFunction),
  nodes: optional(isFunction),
  prefix: isText,
  clock: isOneOf(['server', 'store']),
  timeoutMs: isTimeout,
  connectTimeoutMs: isTimeout,
  tls: optional(isSecretObject),
}
