import type { ConnectionSpan } from '../http/index.js'
import type { Exchange } from './exchange.js'

/** Tells of each request what its sender can have known. */
export interface Arrivals {
  arrive(
    caller: string,
    connection: ConnectionSpan | undefined,
  ): Pick<Exchange, 'connection' | 'sequential'>
  /** Its answer is on the way. */
  leave(caller: string, connection: ConnectionSpan | undefined): void
}

export function createArrivals(): Arrivals {
  const callers = new Map<string, { underWay: number; last?: ConnectionSpan | undefined }>()
  const numbers = new WeakMap<ConnectionSpan, number>()
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

  function numberOf(connection: ConnectionSpan | undefined): number | null {
    if (!connection) return null
    const number = numbers.get(connection) ?? ++connections
    numbers.set(connection, number)
    return number
  }
}

/** Whether who opened this connection can have read the last answer on that one. */
function isAfter(
  connection: ConnectionSpan | undefined,
  last: ConnectionSpan | undefined,
): boolean {
  if (connection === last || !connection || !last) return true
  return last.ended !== undefined && last.ended < connection.opened
}
