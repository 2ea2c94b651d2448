import type Bottleneck from 'bottleneck'
import type { Redis } from 'ioredis'
import type { RateLimit } from '../../src/errors.js'
import { DAY, SECOND } from '../../src/limits/decide.js'
import type { Rejection } from './rejection.js'
import type { Time } from './time.js'

/*
 * Processes that share a key share its units through Redis or Valkey: bottleneck hands out the units
 * of a reservoir, which every response corrects. Its own refresh is not used, because it does not
 * know the server's windows.
 */

/** How long calls wait for the first connection before the process continues without Redis. */
const CONNECT_PATIENCE = 2 * SECOND
/** How long one attempt to connect may take. */
const CONNECT_TIMEOUT = 5 * SECOND
/** How often a process with waiting calls checks whether to open the next window. */
const CHECK = SECOND
/** Another process opens the window if the first has no response after this time. */
const PROBE_PATIENCE = 10 * SECOND
/** Redis forgets a key that has not been used for a day. */
const FORGET = DAY

/** A client of ioredis, whose address and options are used for connections of our own. */
export interface RedisConnection {
  duplicate(override?: object): unknown
}

export interface SharedOptions {
  readonly shared: string | RedisConnection
  /** What the limit belongs to; processes with the same one share it. */
  readonly key: string
  readonly time: Time
}

/** Another process has learnt that nothing may be sent for now. */
export interface Closed {
  /** The code and message of a ban. */
  readonly ban: Rejection | undefined
  readonly retryAt: number
}

export interface SharedKeyListener {
  /** The connection came or went. */
  changed(): void
  closed(closed: Closed): void
  /** Whether calls wait for a unit. */
  isNeeded(): boolean
}

export interface SharedKey {
  /** While `away`, the process continues alone. */
  readonly state: 'connecting' | 'ready' | 'away'
  /** Why sharing is impossible. */
  readonly failure: Error | undefined
  listen(listener: SharedKeyListener): void
  /** Connects, and watches for the next window while calls wait. */
  start(): void
  /**
   * Runs a job once the key has a unit for it.
   *
   * @param job resolves to whether it used the unit
   */
  run(job: () => Promise<boolean>): Promise<void>
  /** After a response: what is left, not counting the requests in flight. */
  admitted(rateLimit: RateLimit, endsAt: number): void
  /** After a 429. */
  rejected(closed: Closed): void
  close(): void
}

interface Link {
  readonly client: Pick<Redis, 'call'>
  readonly limiter: Bottleneck
  readonly key: string
  readonly disconnect: () => void
}

export function createSharedKey(options: SharedOptions): SharedKey {
  const { time } = options
  let state: SharedKey['state'] = 'connecting'
  let failure: Error | undefined
  let listener: SharedKeyListener | undefined
  let link: Link | undefined
  let hasStarted = false
  let isWatching = false
  let isClosed = false
  let work = Promise.resolve()
  let seen: Closed & { readonly text: string } = { text: '', ban: undefined, retryAt: 0 }

  return {
    get state() {
      return state
    },
    get failure() {
      return failure
    },
    listen(given) {
      listener = given
    },
    start() {
      if (!hasStarted) void connect()
      hasStarted = true
      void watch()
    },
    async run(job) {
      if (!link) return
      const { client, limiter, key } = link
      await limiter.schedule(async () => {
        if (await job()) return
        // No call waits here any more, so another process may have it.
        await limiter.incrementReservoir(1)
        await client.call('DEL', `${key}:probe`)
      })
    },
    admitted(rateLimit, endsAt) {
      inOrder(link => correct(link, rateLimit, endsAt))
    },
    rejected({ ban, retryAt }) {
      inOrder(link => announce(link, { ban, retryAt }))
    },
    close() {
      isClosed = true
      link?.disconnect()
    },
  }

  async function connect(): Promise<void> {
    const giveUp = time.at(
      time.now() + CONNECT_PATIENCE,
      () => become('away'),
      () => {},
    )
    try {
      link = await open(options, become)
      // If closed meanwhile, `ready` would never come.
      if (isClosed) link.disconnect()
      else await link.limiter.ready()
      become('ready')
    } catch (error) {
      failure = error as Error
      become('away')
    }
    giveUp()
  }

  function become(next: SharedKey['state']): void {
    if (isClosed || state === next) return
    state = next
    listener?.changed()
  }

  /** Applies responses one after the other; without Redis they are ignored. */
  function inOrder(apply: (link: Link) => Promise<unknown>): void {
    const current = link
    if (!current || state !== 'ready') return
    work = work.then(() => apply(current)).then(ignore, ignore)
  }

  async function correct(
    { client, limiter, key }: Link,
    { remaining, reset }: RateLimit,
    endsAt: number,
  ): Promise<void> {
    const [known] = await Promise.all([
      client.call('GETSET', `${key}:reset`, String(reset)),
      client.call('PEXPIRE', `${key}:reset`, String(FORGET)),
      client.call('DEL', `${key}:probe`),
    ])
    const [reservoir, running] = await Promise.all([limiter.currentReservoir(), limiter.running()])
    const change = Math.max(0, remaining - running) - (reservoir ?? 0)
    // Within a window, responses arrive out of order, and only lower values count.
    if (change < 0 || known !== String(reset)) await limiter.incrementReservoir(change)
    if (remaining === 0) await announce({ client, key }, { ban: undefined, retryAt: endsAt })
  }

  async function announce(
    { client, key }: Pick<Link, 'client' | 'key'>,
    closed: Closed,
  ): Promise<void> {
    const now = time.now()
    const ms = Math.ceil(closed.retryAt - now)
    if (ms <= 0) return
    const text = JSON.stringify({ at: now, ms, ban: closed.ban })
    await client.call('SET', `${key}:closed`, text, 'PX', String(ms + FORGET))
    await client.call('DEL', `${key}:probe`)
  }

  /** Opens each window with one request of one process. */
  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    try {
      while (link && state === 'ready' && !isClosed && listener?.isNeeded()) {
        const closed = await readClosed(link)
        if (closed) listener.closed(closed)
        else if (await mayProbe(link)) await link.limiter.incrementReservoir(1)
        await time.until(time.now() + CHECK)
      }
    } catch {
      // Redis is gone: `changed` lets the process continue alone.
    } finally {
      isWatching = false
    }
  }

  async function readClosed({ client, key }: Link): Promise<Closed | undefined> {
    const text = await client.call('GET', `${key}:closed`)
    if (typeof text !== 'string') return undefined
    const now = time.now()
    if (text !== seen.text) {
      const { at, ms, ban } = JSON.parse(text) as { at: number; ms: number; ban?: Rejection }
      // The clocks may differ: the time runs from when it is first seen, and never longer than set.
      seen = { text, ban, retryAt: Math.min(now, at) + ms }
    }
    return seen.retryAt > now ? seen : undefined
  }

  async function mayProbe({ client, limiter, key }: Link): Promise<boolean> {
    if (((await limiter.currentReservoir()) ?? 0) > 0 || (await limiter.running()) > 0) return false
    const set = client.call('SET', `${key}:probe`, '1', 'PX', String(PROBE_PATIENCE), 'NX')
    return (await set) !== null
  }
}

async function open(
  { shared, key: secret }: SharedOptions,
  become: (state: SharedKey['state']) => void,
): Promise<Link> {
  const { default: Bottleneck } = await import('bottleneck')
  const key = `animal-adoption-store:{${await hash(secret)}}`
  const client = withoutErrorPrefix(await connectTo(shared))
  // It loads ioredis by itself unless it is given something.
  const connection = new Bottleneck.IORedisConnection({ client, Redis: client })
  const limiter = new Bottleneck({ id: key, connection, reservoir: 0, timeout: FORGET })
  limiter.on('error', ignore)
  client.on('ready', () => limiter.ready().then(() => become('ready'), ignore))
  client.on('close', () => become('away'))
  // Not the limiter's own `disconnect`, which unsubscribes on a connection that is closed by then.
  return { client, limiter, key, disconnect: () => void connection.disconnect(false) }
}

/** Commands that Redis cannot answer now are not repeated: the process continues alone. */
const OWN_SETTINGS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT,
}

async function connectTo(shared: string | RedisConnection): Promise<Redis> {
  if (typeof shared === 'string') {
    const ioredis = await import('ioredis').catch(cause => {
      throw new Error('`shared` needs the package ioredis: npm install ioredis', { cause })
    })
    return new ioredis.Redis(shared.replace(/^valkey/, 'redis'), OWN_SETTINGS)
  }
  const own = shared.duplicate(OWN_SETTINGS) as Partial<Redis>
  if (own.defineCommand) return own as Redis
  throw new Error('`shared` takes an address, or a client of ioredis for one server')
}

type Callback = (error: Error | null, replies: unknown) => void
type Command = (...given: unknown[]) => unknown

/**
 * bottleneck registers a limiter again when Redis answers `UNKNOWN_CLIENT`, after a pause of the
 * process, or `SETTINGS_KEY_NOT_FOUND`. It does not know the prefix `ERR ` that Redis 7 adds to errors of scripts.
 */
function withoutErrorPrefix(client: Redis): Redis {
  const define = client.defineCommand.bind(client)
  client.defineCommand = (name, definition) => {
    define(name, definition)
    const commands = client as unknown as Record<string, Command>
    const run = (commands[name] as Command).bind(client)
    commands[name] = (...given) => {
      const done = given.pop() as Callback
      return run(...given, (error: Error | null, replies: unknown) => {
        if (error) error.message = error.message.replace(/^ERR /, '')
        done(error, replies)
      })
    }
  }
  return client
}

/** Everyone with access to Redis can list its keys, so the API key must not be one. */
async function hash(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(bytes).subarray(0, 16), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

function ignore(): void {}
