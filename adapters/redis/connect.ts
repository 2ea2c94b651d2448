import { setMaxListeners } from 'node:events'
import type { ConnectionOptions } from 'node:tls'
import { slotOf } from './cluster-slot.js'
import { destroyClient } from './destroy-client.js'
import { RedisError } from './failures.js'
import type { RedisSend } from './send.js'
import { readUrl } from './settings.js'

export interface RedisConnection {
  readonly send: RedisSend
  /** One `send` per server that holds keys. */
  readonly nodes: () => Promise<readonly RedisSend[]>
  /** The names of those servers, '' for a single one. */
  readonly servers: () => readonly string[]
  /** Which of them holds a key. */
  readonly serverOf: (key: string) => string
  /** Never rejects, however often it is called. */
  readonly close: () => Promise<void>
}

export interface Access {
  readonly url: string
  readonly tls: ConnectionOptions | undefined
  /** How long a socket may take to connect. */
  readonly connectTimeoutMs: number
  /** Cancels a pending connect. */
  readonly signal: AbortSignal
}

/** Connects to a server, or to the whole cluster it belongs to. */
export async function connect(access: Access): Promise<RedisConnection> {
  const { url, tls, connectTimeoutMs, signal } = access
  const { createClient, createCluster, ConnectionTimeoutError } = await loadClient()
  signal.throwIfAborted()
  let settled = false
  const sockets = new AbortController()
  // A cluster may have many nodes.
  setMaxListeners(0, sockets.signal)
  const settings = readUrl(url, tls, {
    connectTimeout: connectTimeoutMs,
    reconnectStrategy(retries, cause) {
      if (sockets.signal.aborted) return cause
      // If this process stalled, the answer may have been in time.
      return settled || cause instanceof ConnectionTimeoutError
        ? Math.min(50 * 2 ** retries, 1_000)
        : cause
    },
    signal: sockets.signal,
  })
  const client = createClient(settings)
  // Unhandled, a lost connection would crash the process; commands fail on their own.
  client.on('error', ignore)
  const end = (...clients: readonly ({ destroy(): void } | undefined)[]) => {
    for (const client of clients) destroyClient(client)
    // Not at once: a socket that is created with an aborted signal connects nevertheless.
    setImmediate(() => sockets.abort())
  }
  const endClient = () => end(client)
  signal.addEventListener('abort', endClient)
  await client.connect()
  const isNode = await isCluster(client)
  signal.throwIfAborted()
  if (!isNode) {
    settled = true
    signal.removeEventListener('abort', endClient)
    client.unref()
    const send: RedisSend = command => client.sendCommand([...command])
    return {
      send,
      nodes: async () => [send],
      servers: () => [''],
      serverOf: () => '',
      close: async () => endClient(),
    }
  }
  destroyClient(client)
  signal.removeEventListener('abort', endClient)

  const { socket, database: _, ...defaults } = settings
  const { host, port, ...others } = socket
  const cluster = createCluster({
    rootNodes: [settings],
    // Each node has a host and a port of its own.
    defaults: { ...defaults, socket: others },
    RESP: 2,
  })
  cluster.on('error', ignore)
  // One client after the other: the cluster stops at the first that is closed already.
  const endAll = () => end(cluster, ...cluster.masters.map(({ client }) => client))
  signal.addEventListener('abort', endAll)
  await cluster.connect()
  signal.throwIfAborted()
  settled = true
  return {
    send: (command, key) => cluster.sendCommand(key, false, [...command]),
    async nodes() {
      const clients = await Promise.all(cluster.masters.map(node => cluster.nodeClient(node)))
      return clients.map(client => command => client.sendCommand([...command]))
    },
    servers: () => cluster.masters.map(({ address }) => address),
    serverOf: key => cluster.slots[slotOf(key)]?.master.address ?? '',
    close: async () => endAll(),
  }
}

async function isCluster(client: { sendCommand(command: string[]): Promise<unknown> }) {
  try {
    return /^cluster_enabled:1/m.test(String(await client.sendCommand(['INFO', 'cluster'])))
  } catch {
    // Users without permission for INFO get a single server.
    return false
  }
}

async function loadClient(): Promise<typeof import('@redis/client')> {
  try {
    return await import('@redis/client')
  } catch (cause) {
    const message = 'The package @redis/client is not installed; run: npm install @redis/client'
    throw new RedisError(message, { cause })
  }
}

function ignore(): void {}
