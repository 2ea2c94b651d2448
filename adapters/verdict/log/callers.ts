import type { Connection } from '../../../src/protocol/api-request.js'
import { MOST_REMEMBERED, remember } from './bounded-log.js'
import type { SenderSeen } from './read-request.js'

interface Caller {
  readonly underWay: (ConnectionSpan | undefined)[]
  isKnown: boolean
  last: ConnectionSpan | undefined
  /** When its last answer was given, on the count of its connections. */
  answered: number | undefined
}

/**
 * Tracks which responses the sender of a request could have seen.
 * @param numbered how many connections a restored journal has numbered; undefined for a new one
 */
export function createCallers(numbered?: number) {
  const callers = new Map<string, Caller>()
  const numbers = createNumbers(numbered)

  return {
    /** @param isPipelined true if sent before the previous response on its connection */
    arrive(name: string, connection?: Connection, isPipelined = false): SenderSeen {
      const span = spanOf(connection)
      // An unknown caller is new, unless it may be from before a restore or was forgotten.
      const isKnown = numbered === undefined && callers.size < MOST_REMEMBERED
      const begun = { underWay: [], isKnown, last: undefined, answered: undefined }
      const caller: Caller = callers.get(name) ?? begun
      remember(callers, name, caller)
      const overlap = overlapOf(caller, span, isPipelined)
      caller.underWay.push(span)
      if (span) span.isUsed = true
      return {
        connection: numbers.of(connection),
        sequential: caller.isKnown && overlap === 'none' && isAfter(span, caller.last),
        overlap,
      }
    },
    /** Notes that a response to the caller is on its way. */
    leave(name: string, connection?: Connection): void {
      const caller = callers.get(name)
      if (!caller) return
      const span = spanOf(connection)
      caller.underWay.splice(caller.underWay.indexOf(span), 1)
      caller.last = span
      caller.answered = span?.mark()
      caller.isKnown = true
    },
    connections: numbers.last,
  }
}

function overlapOf(caller: Caller, span: ConnectionSpan | undefined, isPipelined: boolean) {
  const { underWay, answered = 0 } = caller
  if (isPipelined || (span && underWay.includes(span))) return 'connection'
  // Whoever opens another connection before the last answer has more than one request to send.
  const isEager = span?.isUsed === false && span.opened < answered
  return underWay.length > 0 || isEager ? 'key' : 'none'
}

/** True if the client that opened this connection can have read the last answer on that one. */
function isAfter(span: ConnectionSpan | undefined, last: ConnectionSpan | undefined): boolean {
  if (span === last || !span || !last) return true
  return last.ended !== undefined && last.ended < span.opened
}

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

/** A double's `connect` opens nothing else. */
function spanOf(connection: Connection | undefined): ConnectionSpan | undefined {
  return connection as ConnectionSpan | undefined
}

/**
 * When the client opened and ended a connection, on one count of all such events of a double: a
 * request on a connection opened after another one ended comes from a client that could have read
 * the answer there.
 */
export type ConnectionSpan = ReturnType<ReturnType<typeof createConnections>>

export function createConnections() {
  let events = 0
  return () => {
    const span = {
      opened: ++events,
      ended: undefined as number | undefined,
      isUsed: false,
      mark: () => ++events,
      end() {
        span.ended ??= ++events
      },
    }
    return span
  }
}
