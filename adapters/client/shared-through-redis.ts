import type { Redis } from 'ioredis'
import type { RateLimit } from '../../src/api-error.js'
import { DAY, SECOND } from '../../src/limits/windows-and-bans.js'
import type { ApiKeyBannedError } from './errors.js'
import type { Degraded } from './hooks.js'
import type { Time } from './time.js'

/*
 * Processes that share a key share its units through Redis or Valkey: bottleneck hands out the
 * units of a reservoir, which every response corrects. Bottleneck's own refresh is off, because it
 * does not know the server's windows.
 */

/** Wait for the first connection before the process continues without Redis. */
const CONNECT_PATIENCE = 2 * SECOND
const CONNECT_TIMEOUT = 5 * SECOND
/** Interval at which a process with waiting calls checks whether to open the next window. */
const CHECK = SECOND
/** A Redis that refused to write is tried again after this time. */
const RETRY = 5 * SECOND
/** Time without a response after which another process opens the window. */
const PROBE_PATIENCE = 10 * SECOND
const FORGET = DAY

export interface Pause {
  readonly retryAt: number
  /** The server's words, if the key is banned. */
  readonly ban?: Pick<ApiKeyBannedError, 'code' | 'message'> | undefined
}

/** A client of ioredis, which is duplicated. */
export interface RedisConnection {
  duplicate(override?: object): unknown
}

interface SharedKeyOptions {
  readonly shared: string | RedisConnection
  /** Identifies the limit; processes with the same key share it. */
  readonly key: string
  readonly time: Time
  /** Called when there is a unit, and when the connection was made or lost. */
  readonly changed: () => void
  /** Called when another process has learned that nothing may be sent. */
  readonly paused: (pause: Pause) => void
  readonly onDegraded: (failure: Degraded) => void
  readonly onRecovered: () => void
}

export interface Unit {
  giveBack(): void
}

export type SharedKey = ReturnType<typeof createSharedKey>

export function createSharedKey(options: SharedKeyOptions) {
  const { time, changed } = options
  const connection = createConnection(options)
  let offered: Unit | undefined
  let units = 0
  let isWatching = false

  return {
    get isAway() {
      return connection.isAway
    },
    get failure() {
      return connection.failure
    },
    /** Returns a unit if there is one. @param wanted most units to be requested or in use */
    take(wanted: number): Unit | undefined {
      const reservoir = connection.ready()
      while (reservoir && units < wanted) void request(reservoir)
      const unit = offered
      offered = undefined
      if (!unit) void watch()
      return unit
    },
    /** Corrects the reservoir; the requests in flight are not counted in `remaining`. */
    admitted(rateLimit: RateLimit, endsAt: number): void {
      connection.reservoir?.correct(rateLimit, endsAt)
    },
    rejected(pause: Pause): void {
      connection.reservoir?.announce(pause)
    },
    close: connection.close,
  }

  async function request(reservoir: Reservoir): Promise<void> {
    units++
    try {
      await reservoir.use(offer)
    } catch (error) {
      connection.failed(error)
      // The connection may need a moment to notice that it is broken.
      await time.until(time.now() + CHECK)
    }
    units--
    changed()
  }

  /** Resolves to true if a call used the unit. */
  function offer(): Promise<boolean> {
    return new Promise(resolve => {
      const unit = { giveBack: () => resolve(true) }
      offered = unit
      changed()
      if (offered !== unit) return
      offered = undefined
      resolve(false)
    })
  }

  /** While calls wait, opens each window with one request of one process. */
  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    while (units > 0) {
      const reservoir = connection.ready()
      if (!reservoir) break
      await reservoir.probe().catch(connection.failed)
      await time.until(time.now() + CHECK)
    }
    isWatching = false
  }
}

/** Connects to the reservoir at first use, and again once Redis has lost it or refused to write. */
function createConnection(options: SharedKeyOptions) {
  const { time, changed, onDegraded, onRecovered } = options
  let state: 'new' | 'connecting' | 'ready' | 'away' | 'closed' = 'new'
  let failure: Error | undefined
  let reservoir: Reservoir | undefined
  let isAway = false
  let stopRetry: (() => void) | undefined

  return {
    get isAway() {
      return isAway
    },
    get failure() {
      return failure
    },
    get reservoir() {
      return reservoir
    },
    /** Returns the reservoir while Redis answers; the first call connects. */
    ready(): Reservoir | undefined {
      if (state === 'new') void connect()
      return state === 'ready' ? reservoir : undefined
    },
    failed,
    close(): void {
      state = 'closed'
      stopRetry?.()
      reservoir?.close()
    },
  }

  async function connect(): Promise<void> {
    state = 'connecting'
    const late = new Error(`Redis did not answer within ${CONNECT_PATIENCE} ms`)
    const giveUp = time.at(time.now() + CONNECT_PATIENCE, () => become('away', late))
    try {
      reservoir = await openReservoir(options, become, failed)
    } catch (error) {
      failure = error as Error
      changed()
    }
    if (isClosed()) reservoir?.close()
    else await reservoir?.ready().then(() => become('ready'), failed)
    giveUp()
  }

  function isClosed(): boolean {
    return state === 'closed'
  }

  function become(next: 'new' | 'ready' | 'away', error?: unknown): void {
    if (isClosed() || state === next) return
    if (next === 'new') reservoir?.close()
    state = next
    if (next !== 'new' && isAway !== (next === 'away')) {
      isAway = !isAway
      if (isAway) onDegraded({ error })
      else onRecovered()
    }
    changed()
  }

  /** A connection says little: a Redis that answers may refuse to write. */
  function failed(error: unknown): void {
    const { name, message } = error as Error
    if (name !== 'ReplyError' || !reservoir || isClosed()) return
    if (FORGOTTEN.test(message) && !isAway) {
      become('new')
      return
    }
    reservoir.close()
    reservoir = undefined
    become('away', error)
    stopRetry = time.at(time.now() + RETRY, () => void connect())
  }
}

/** Redis has lost the limiter, or dropped this process from it after a pause: register again. */
const FORGOTTEN = /UNKNOWN_CLIENT|SETTINGS_KEY_NOT_FOUND/

type Reservoir = Awaited<ReturnType<typeof openReservoir>>

async function openReservoir(
  { shared, key: secret, time, paused }: SharedKeyOptions,
  become: (state: 'ready' | 'away', error?: unknown) => void,
  failed: (error: unknown) => void,
) {
  const { default: Bottleneck } = await import('bottleneck')
  const key = `animal-adoption-store:{${await hash(secret)}}`
  const client = await connectTo(shared)
  // Bottleneck loads ioredis by itself unless it is given a client.
  const connection = new Bottleneck.IORedisConnection({ client, Redis: client })
  const limiter = new Bottleneck({ id: key, connection, reservoir: 0, timeout: FORGET })
  let pausedUntil = 0
  let work: Promise<unknown> = Promise.resolve()
  let isOpen = true
  const onFailure = (error: unknown) => isOpen && failed(error)
  limiter.on('error', onFailure)
  limiter.on('message', (text: string) => {
    const { ms, ban } = JSON.parse(text) as { ms: number; ban?: Pause['ban'] }
    pausedUntil = time.now() + ms
    paused({ ban, retryAt: pausedUntil })
  })
  client.on('ready', () => limiter.ready().then(() => become('ready'), ignore))
  client.on('close', () => isOpen && become('away', new Error('The connection to Redis was lost')))

  return {
    ready: () => limiter.ready(),

    async use(job: () => Promise<boolean>): Promise<void> {
      await limiter.schedule(async () => {
        if (await job()) return
        await limiter.incrementReservoir(1)
        await client.del(`${key}:probe`)
      })
    },

    correct({ remaining, reset }: RateLimit, endsAt: number): void {
      inOrder(async () => {
        const [known] = await Promise.all([
          client.set(`${key}:reset`, reset, 'PX', FORGET, 'GET'),
          client.del(`${key}:probe`),
        ])
        const [left, running] = await Promise.all([limiter.currentReservoir(), limiter.running()])
        const change = Math.max(0, remaining - running) - (left ?? 0)
        // Within a window, responses arrive out of order, so only lower values count.
        if (change < 0 || known !== String(reset)) await limiter.incrementReservoir(change)
        if (remaining === 0) await pauseAll({ retryAt: endsAt })
      })
    },

    announce: (pause: Pause) => inOrder(() => pauseAll(pause)),

    /** Adds a unit if there is none, in one process only. */
    async probe(): Promise<void> {
      if (time.now() < pausedUntil) return
      if (((await limiter.currentReservoir()) ?? 0) > 0 || (await limiter.running()) > 0) return
      const isMine = await client.set(`${key}:probe`, 1, 'PX', PROBE_PATIENCE, 'NX')
      if (isMine) await limiter.incrementReservoir(1)
    },

    close(): void {
      isOpen = false
      void limiter.stop({ dropWaitingJobs: true }).catch(ignore)
      // The limiter's own `disconnect` unsubscribes on a connection that is already closed.
      void connection.disconnect(false)
    },
  }

  /** Applies responses one after the other; without Redis, ignores them. */
  function inOrder(task: () => Promise<unknown>): void {
    work = work.then(task).then(ignore, onFailure)
  }

  async function pauseAll({ ban, retryAt }: Pause): Promise<void> {
    const ms = Math.ceil(retryAt - time.now())
    const text = { ms, ban: ban && { code: ban.code, message: ban.message } }
    if (ms > 0) await limiter.publish(JSON.stringify(text))
    await client.del(`${key}:probe`)
  }
}

/** Without a connection, commands fail at once and the process continues alone. */
const OWN_SETTINGS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT,
  socketTimeout: CONNECT_TIMEOUT,
}

async function connectTo(shared: string | RedisConnection): Promise<Redis> {
  if (typeof shared === 'string') {
    try {
      const { Redis } = await import('ioredis')
      return new Redis(shared.replace(/^valkey/, 'redis'), OWN_SETTINGS)
    } catch (cause) {
      throw new Error('`shared` needs the package ioredis: npm install ioredis', { cause })
    }
  }
  const own = shared.duplicate(OWN_SETTINGS) as Partial<Redis>
  if (own.defineCommand) return own as Redis
  throw new Error('`shared` takes an address, or a client of ioredis for one server')
}

/** Everyone with access to Redis can list its keys, so the API key must not be one. */
async function hash(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
}

function ignore(): void {}
