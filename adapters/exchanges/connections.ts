import type { Connection } from '../../src/protocol/api.js'

/**
 * Numbers connections in the order of their first use.
 *
 * @param last the number before the first
 */
export function createNumbers(last = 0) {
  const numbers = new WeakMap<Connection, number>()
  let count = last
  return {
    /** Null for a request without one. */
    of(connection: Connection | undefined): number | null {
      if (!connection) return null
      const number = numbers.get(connection) ?? ++count
      numbers.set(connection, number)
      return number
    },
    /** The latest. */
    last: () => count,
  }
}
