import type { ConnectionOptions } from 'node:tls'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { RedisError } from './failures.js'

/** A client of ioredis: `Redis` for one server, or `Cluster`. */
export interface RedisClient {
  call(command: string, ...words: string[]): Promise<unknown>
  /** Only a cluster has it: the clients of its servers. */
  nodes?(role: 'master'): readonly RedisClient[]
}

export interface RedisConnection {
  /** Rejects if the first attempt to connect fails; the client goes on trying. */
  readonly ready: Promise<void>
  /** That of a cluster once it is known to be one. */
  readonly client: RedisClient
  /** Never rejects, however often it is called. */
  close(): Promise<void>
}

export interface Access {
  readonly url: string
  readonly tls: ConnectionOptions | undefined
  /** How long a socket may take to connect. */
  readonly connectTimeoutMs: number
}

/** A socket on which commands stay unanswered for this long, in ms, is replaced: it died silently. */
const SILENCE = 5_000
/** Between two attempts to connect, in ms. */
const LONGEST_PAUSE = 1_000

/** Connects to a server, or to the whole cluster it belongs to. Both reconnect by themselves. */
export async function connect(access: Access): Promise<RedisConnection> {
  const ioredis = await loadClient()
  const settings = settingsOf(access)
  const server = new ioredis.Redis(settings)
  let cluster: Cluster | undefined
  /** Why there is no connection, which commands that fail for the lack of one do not say. */
  let lost: unknown
  server.on('error', error => {
    lost = error
  })
  const single: RedisClient = {
    call: (...command) =>
      server.call(...command).catch(error => {
        throw server.status === 'ready' ? error : (lost ?? error)
      }),
  }
  return {
    ready: settled(server, async () => {
      if (!(await isCluster(server))) return
      const nodes = { ...settings, lazyConnect: false }
      cluster = new ioredis.Cluster([{ host: settings.host, port: settings.port }], {
        redisOptions: nodes,
        lazyConnect: true,
        enableOfflineQueue: false,
        enableReadyCheck: false,
        slotsRefreshTimeout: access.connectTimeoutMs,
        clusterRetryStrategy: retries => pauseBefore(retries),
      })
      await settled(cluster)
      end(server)
    }),
    get client() {
      return cluster ?? single
    },
    async close() {
      const nodes = [server, ...(cluster?.nodes() ?? [])]
      cluster?.disconnect()
      for (const node of nodes) end(node)
    },
  }
}

/** The first connection, and what has to be done with it. */
async function settled(client: Redis | Cluster, use = async () => {}): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Unhandled, a lost connection would be printed; commands fail on their own.
    client.on('error', reject)
    client.once('ready', () => use().then(resolve, reject))
    // Its reason is that of `error`, but for a cluster.
    client.connect().catch(error => setImmediate(reject, error))
  })
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
    // While disconnected, requests are counted in this process at once.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // After a failover, the same address may lead to the new primary.
    reconnectOnError: error => error.message.startsWith('READONLY'),
  } satisfies RedisOptions
}

/** A server that does not answer would not end its side of the connection either. */
function end(client: Redis): void {
  client.disconnect()
  client.stream?.destroy()
}

function pauseBefore(retries: number): number {
  return Math.min(50 * 2 ** retries, LONGEST_PAUSE)
}

async function isCluster(server: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(String(await server.call('INFO', 'cluster')))
  } catch {
    // Users without permission for INFO get a single server.
    return false
  }
}

async function loadClient(): Promise<Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>> {
  try {
    return await import('ioredis')
  } catch (cause) {
    const message = 'The package ioredis is not installed; run: npm install ioredis'
    throw new RedisError(message, { cause })
  }
}
