import type { Connection } from '../../../src/protocol/api-request.js'

/** Numbers connections in order of first use. @param last the number before the first */
export function createNumbers(last = 0) {
  const numbers = new WeakMap<Connection, number>()
  let count = last
  return {
    /** Null for a request without a connection. */
    of(connection: Connection | undefined): number | null {
      if (!connection) return null
      const known = numbers.get(connection)
      if (known) return known
      numbers.set(connection, ++count)
      return count
    },
    last: () => count,
  }
}
