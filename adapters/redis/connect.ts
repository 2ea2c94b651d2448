import type { ConnectionOptions } from 'node:tls'
import type { Redis, RedisOptions } from 'ioredis'
import { setImmediate } from '../platform.js'
import { NOT_INSTALLED, RedisError } from './failures.js'

/** A client of ioredis: `Redis` for one server, or `Cluster`. */
export interface RedisClient {
  readonly options?: { readonly keyPrefix?: unknown }
  call(command: string, ...words: string[]): Promise<unknown>
  /** Only a cluster has it: the clients of its servers. */
  nodes?(role: 'master'): readonly RedisClient[]
}

export interface RedisConnection {
  /** Rejects if the first attempt to connect fails; the client keeps trying. */
  readonly ready: Promise<void>
  readonly client: RedisClient
  /** Never rejects. May be called again. */
  close(): Promise<void>
}

export interface Access {
  readonly url: string
  readonly tls: ConnectionOptions | undefined
  readonly connectTimeoutMs: number
}

/** In ms; a socket that leaves commands unanswered for so long has died. */
const SILENCE = 5_000
/** Between two attempts to connect, in ms. */
const LONGEST_PAUSE = 1_000

export async function connect(access: Access): Promise<RedisConnection> {
  const { Redis } = await loadClient()
  const server = new Redis(settingsOf(access))
  /** The reason for a lost connection, which failed commands do not give. */
  let lost: unknown
  server.on('error', error => {
    lost = error
  })
  return {
    ready: new Promise((resolve, reject) => {
      server.once('error', reject)
      // ioredis emits the failure of SELECT, which comes before this reply.
      server.once('ready', () => server.time().then(() => resolve(), reject))
      server.connect().catch(error => setImmediate(() => reject(error)))
    }),
    client: {
      call(...command) {
        corkThisTurn(server.stream)
        return server.call(...command).catch(error => {
          throw server.status === 'ready' ? error : (lost ?? error)
        })
      },
    },
    async close() {
      server.disconnect()
      // A server that does not answer would not end its side of the connection either.
      server.stream?.destroy()
    },
  }
}

/** Writes the commands of one turn of the event loop at once, as each write is a system call. */
function corkThisTurn(stream: Redis['stream'] | undefined): void {
  if (!stream || stream.writableCorked > 0) return
  stream.cork()
  // A microtask, which no fake timer holds back.
  Promise.resolve().then(() => stream.uncork())
}

/** Parsed here, because errors of the client would contain the URL and its password. */
function settingsOf({ url, tls, connectTimeoutMs }: Access) {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const isSecure = protocol === 'rediss:' || protocol === 'valkeys:'
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1) || 0),
    ...(isSecure && { tls: { ...tls } }),
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: connectTimeoutMs,
    socketTimeout: SILENCE,
    retryStrategy: pauseBefore,
    // While disconnected, this process counts requests at once.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // After a fail-over, the same address may lead to the new primary.
    reconnectOnError: error => error.message.startsWith('READONLY'),
  } satisfies RedisOptions
}

function pauseBefore(retries: number): number {
  return Math.min(50 * 2 ** retries, LONGEST_PAUSE)
}

async function loadClient(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis')
  } catch (cause) {
    throw new RedisError(NOT_INSTALLED, { cause })
  }
}
