import type { Connection } from '../../src/api.js'
import type { Exchange } from './exchange.js'

/** Tells of each request what its sender can have known. */
export interface Callers {
  arrive(
    caller: string,
    connection: Connection | undefined,
  ): Pick<Exchange, 'connection' | 'sequential'>
  /** Its answer is on the way. */
  leave(caller: string, connection: Connection | undefined): void
}

export function createCallers(): Callers {
  const callers = new Map<string, { underWay: number; last?: Connection | undefined }>()
  const numbers = new WeakMap<Connection, number>()
  let connections = 0

  return {
    arrive(caller, connection) {
      const known = callers.get(caller) ?? { underWay: 0 }
      callers.set(caller, known)
      const sequential = known.underWay === 0 && isAfter(connection, known.last)
      known.underWay++
      return { connection: numberOf(connection), sequential }
    },
    leave(caller, connection) {
      const known = callers.get(caller)
      if (!known) return
      known.underWay--
      known.last = connection
    },
  }

  function numberOf(connection: Connection | undefined): number | null {
    if (!connection) return null
    const number = numbers.get(connection) ?? ++connections
    numbers.set(connection, number)
    return number
  }
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
