import { destroyClient } from '../redis/destroy-client.js'

/** A client of `@redis/client`, as far as it is used. */
export interface NodeRedisClient {
  readonly isReady: boolean
  readonly isPubSubActive: boolean
  readonly options?: { readonly socket?: object }
  connect(): Promise<unknown>
  destroy(): void
  duplicate(overrides: object): NodeRedisClient
  sendCommand(words: string[]): Promise<unknown>
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  setMaxListeners(count: number): unknown
  on(event: string, listener: (...given: never[]) => void): unknown
  once(event: string, listener: (...given: never[]) => void): unknown
}

/** As much of an ioredis client as bottleneck and `createSharedKey` use. */
export interface IoredisForm {
  readonly status: string
  call(...words: readonly string[]): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, done: () => void): void
  unsubscribe(channel: string): Promise<unknown>
  duplicate(): IoredisForm
  /** Adds a method `name(numberOfKeys, ...keys, ...arguments, callback)`. */
  defineCommand(name: string, command: { readonly lua: string }): void
  setMaxListeners(count: number): unknown
  on(event: IoredisEvent, listener: Listener): unknown
  once(event: IoredisEvent, listener: Listener): unknown
  disconnect(): void
}

type IoredisEvent = 'ready' | 'error' | 'message' | 'close'
type Listener = (...given: string[]) => void
type Callback = (error: Error | null, replies?: unknown) => void

/**
 * Settings of the connections that are ours, for ioredis and for `@redis/client`, each of which
 * ignores those of the other. Commands that Redis cannot answer now are not repeated: the process
 * continues alone.
 */
export const OWN_SETTINGS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  disableOfflineQueue: true,
  commandOptions: { timeout: 0 },
} as const

/** `OWN_SETTINGS`, and those of a client that has a `signal` for its sockets. */
export function withSignal({ options }: Pick<NodeRedisClient, 'options'>, signal: AbortSignal) {
  return { ...OWN_SETTINGS, ...(options && { socket: { ...options.socket, signal } }) }
}

/**
 * Presents a client of `@redis/client` in the form of ioredis, which bottleneck knows, and connects it.
 *
 * @param sockets ends its sockets: the client has no hold on one that is still connecting
 */
export function asIoredis(client: NodeRedisClient, sockets: AbortController): IoredisForm {
  const messageListeners: Listener[] = []
  // Errors without a listener would end the process; `connect` repeats what fails.
  client.on('error', ignore)
  void client.connect().catch(ignore)

  const form: IoredisForm & Record<string, unknown> = {
    get status() {
      return client.isReady ? 'ready' : 'connecting'
    },
    call: (...words) => client.sendCommand([...words]),
    publish: (channel, message) => client.sendCommand(['PUBLISH', channel, message]),
    subscribe,
    unsubscribe: channel => client.unsubscribe(channel),
    duplicate() {
      const own = new AbortController()
      return asIoredis(client.duplicate(withSignal(client, own.signal)), own)
    },
    defineCommand(name, { lua }) {
      form[name] = scriptRunner(client, lua)
    },
    setMaxListeners: count => client.setMaxListeners(count),
    on(event, listener) {
      if (event === 'message') messageListeners.push(listener)
      else if (event === 'close') onClose(listener)
      else client.on(event, listener)
    },
    once: (event, listener) => client.once(event, listener),
    disconnect() {
      destroyClient(client)
      sockets.abort()
    },
  }
  return form

  function subscribe(channel: string, done: () => void): void {
    const receive = (message: string) => {
      for (const listener of messageListeners) listener(channel, message)
    }
    // Once subscribed, the client subscribes again by itself after each loss of the connection.
    client.subscribe(channel, receive).then(done, () => {
      client.once('ready', () => subscribe(channel, done))
    })
  }

  function onClose(listener: Listener): void {
    client.on('error', () => {
      if (!client.isReady) listener()
    })
    client.on('end', () => listener())
  }
}

/** Runs a script by its hash, and sends it whole to a server that does not know it. */
function scriptRunner(client: NodeRedisClient, lua: string) {
  let hash: string | undefined
  return (...given: unknown[]): void => {
    const done = given.at(-1) as Callback
    const words = given.slice(0, -1).map(word => String(word ?? ''))
    run(words).then(
      replies => done(null, replies),
      error => done(error),
    )
  }

  async function run(words: string[]): Promise<unknown> {
    hash ??= String(await client.sendCommand(['SCRIPT', 'LOAD', lua]))
    try {
      return await client.sendCommand(['EVALSHA', hash, ...words])
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return client.sendCommand(['EVAL', lua, ...words])
    }
  }
}

function ignore(): void {}
