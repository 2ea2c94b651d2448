import type { Connection } from '../../src/protocol/api.js'
import type { Exchange } from './exchange.js'

/** Determines what the sender of a request can have known. */
export interface Callers {
  arrive(
    caller: string,
    connection: Connection | undefined,
  ): Pick<Exchange, 'connection' | 'sequential'>
  /** The answer to one of the caller's requests is on its way. */
  leave(caller: string, connection: Connection | undefined): void
  /** How many connections have been numbered. */
  connections(): number
}

/** No real test has more; a fuzzer of User-Agents must not fill the memory. */
const MOST_CALLERS = 1_000

/**
 * @param numbered how many connections a restored journal has numbered already; undefined for a
 * new one
 */
export function createCallers(numbered?: number): Callers {
  const callers = new Map<string, Caller>()
  const numbers = new WeakMap<Connection, number>()
  let connections = numbered ?? 0
  /** Whether an unknown caller is new: not forgotten, nor from before a restore. */
  let remembersAll = numbered === undefined

  return {
    arrive(name, connection) {
      const caller = callers.get(name) ?? { underWay: 0, isKnown: remembersAll, last: undefined }
      // Deleted first, so that the map lists the least recent caller first.
      callers.delete(name)
      callers.set(name, caller)
      if (callers.size > MOST_CALLERS) forgetOne()
      const sequential = caller.isKnown && caller.underWay === 0 && isAfter(connection, caller.last)
      caller.underWay++
      return { connection: numberOf(connection), sequential }
    },
    leave(name, connection) {
      const caller = callers.get(name)
      if (!caller) return
      caller.underWay--
      caller.last = connection
      caller.isKnown = true
    },
    connections: () => connections,
  }

  function forgetOne(): void {
    for (const [name, { underWay }] of callers) {
      if (underWay > 0) continue
      callers.delete(name)
      remembersAll = false
      return
    }
  }

  function numberOf(connection: Connection | undefined): number | null {
    if (!connection) return null
    const number = numbers.get(connection) ?? ++connections
    numbers.set(connection, number)
    return number
  }
}

interface Caller {
  underWay: number
  /** Whether `last` is the connection of its last answer. */
  isKnown: boolean
  last: Connection | undefined
}

/** Whether the client that opened this connection can have read the last answer on that one. */
function isAfter(connection: Connection | undefined, last: Connection | undefined): boolean {
  if (connection === last || !connection || !last) return true
  // A double's `connect` opens nothing else.
  const [{ opened }, { ended }] = [connection, last] as [ConnectionSpan, ConnectionSpan]
  return ended !== undefined && ended < opened
}

/**
 * When the client opened and ended a connection, on one count of all such events of a double: a
 * request on a connection opened after another one ended comes from a client that could have read
 * the answer there.
 */
export interface ConnectionSpan extends Connection {
  readonly opened: number
  readonly ended: number | undefined
}

/** @returns opens a connection */
export function createConnections(): () => ConnectionSpan {
  let events = 0
  return () => {
    const span = {
      opened: ++events,
      ended: undefined as number | undefined,
      end() {
        span.ended ??= ++events
      },
    }
    return span
  }
}
