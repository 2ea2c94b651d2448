import type { ConnectionSpan } from '../http/index.js'

/** Knows for each caller whether the answers before could have been read. */
export function createArrivals() {
  const callers = new Map<string, { underWay: number; last?: ConnectionSpan | undefined }>()

  return {
    arrive(caller: string, connection: ConnectionSpan | undefined): boolean {
      const known = callers.get(caller) ?? { underWay: 0 }
      callers.set(caller, known)
      return known.underWay++ === 0 && isAfter(connection, known.last)
    },
    leave(caller: string, connection: ConnectionSpan | undefined): void {
      const known = callers.get(caller)
      if (!known) return
      known.underWay--
      known.last = connection
    },
  }
}

function isAfter(connection: ConnectionSpan | undefined, last: ConnectionSpan | undefined) {
  if (connection === last || !connection || !last) return true
  return last.ended !== undefined && last.ended < connection.opened
}
