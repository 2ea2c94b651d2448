import type { Connection } from '../../src/api.js'

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
