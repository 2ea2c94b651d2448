import { setTimeout as pause } from 'node:timers/promises'
import type { RedisConnection } from './connect.js'
import { RedisError } from './failures.js'

/** A command that waits longer than this, in ms, may be on a connection that died silently. */
const SILENCE = 5_000
/** Between two attempts, in ms. */
const PAUSE = 1_000
/** How long a replaced connection still receives replies, in ms. */
const LINGER = 1_000

/**
 * A connection that replaces itself where a new one may help: when a command stays unanswered, when
 * there was none yet, and when its server has become a replica, since the same address may lead to
 * the new primary by now. The client repairs everything else by itself.
 *
 * @param open opens a connection that works, or rejects
 */
export function withReconnect(
  first: RedisConnection,
  open: () => Promise<RedisConnection>,
): RedisConnection {
  const all = new Set([first])
  let current = first
  // In insertion order, so the first has waited longest.
  let unanswered = new Set<{ readonly since: number }>()
  let attemptedAt = Number.NEGATIVE_INFINITY
  let isOpening = false
  let isClosed = false

  return {
    async send(command, key) {
      const [oldest] = unanswered
      if (oldest && performance.now() - oldest.since > SILENCE) void replace()
      const pending = unanswered
      const sent = { since: performance.now() }
      pending.add(sent)
      try {
        return await current.send(command, key)
      } catch (error) {
        if (isStale(error)) void replace()
        throw error
      } finally {
        pending.delete(sent)
      }
    },
    nodes: () => current.nodes(),
    servers: () => current.servers(),
    serverOf: key => current.serverOf(key),
    async close() {
      isClosed = true
      await Promise.all([...all].map(connection => connection.close()))
    },
  }

  async function replace(): Promise<void> {
    if (isOpening || performance.now() - attemptedAt < PAUSE) return
    attemptedAt = performance.now()
    isOpening = true
    try {
      use(await open())
    } catch {
      // A later command tries again.
    }
    isOpening = false
  }

  function use(connection: RedisConnection): void {
    if (isClosed) return void connection.close()
    const old = current
    current = connection
    unanswered = new Set()
    all.add(connection)
    void pause(LINGER, undefined, { ref: false }).then(() => {
      all.delete(old)
      return old.close()
    })
  }
}

/** In place of a connection to a server that is away. */
export function notConnected(failure: RedisError): RedisConnection {
  const fail = () => Promise.reject(failure)
  return { send: fail, nodes: fail, servers: () => [''], serverOf: () => '', close: async () => {} }
}

/** Only `notConnected` fails with a RedisError. */
function isStale(error: unknown): boolean {
  return error instanceof RedisError || String((error as Error).message).startsWith('READONLY')
}
