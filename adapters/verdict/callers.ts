import type { Connection } from '../../src/protocol/api.js'
import type { Exchange } from '../exchanges/exchange.js'
import type { Callers } from '../exchanges/recorder.js'

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
    arrive(name, connection, isPipelined = false) {
      const caller = callers.get(name) ?? newCaller(remembersAll)
      // Deleted first, so that the map lists the least recent caller first.
      callers.delete(name)
      callers.set(name, caller)
      if (callers.size > MOST_CALLERS) forgetOne()
      const overlap = overlapOf(caller, connection, isPipelined)
      const isAlone = caller.isKnown && overlap === 'none'
      caller.underWay.push(connection)
      spanOf(connection)?.use()
      return {
        connection: numberOf(connection),
        sequential: isAlone && isAfter(connection, caller.last),
        overlap,
      }
    },
    leave(name, connection) {
      const caller = callers.get(name)
      if (!caller) return
      caller.underWay.splice(caller.underWay.indexOf(connection), 1)
      caller.last = connection
      caller.answered = spanOf(connection)?.mark()
      caller.isKnown = true
    },
    connections: () => connections,
  }

  function forgetOne(): void {
    for (const [name, { underWay }] of callers) {
      if (underWay.length > 0) continue
      callers.delete(name)
      remembersAll = false
      return
    }
  }

  function overlapOf(
    caller: Caller,
    connection: Connection | undefined,
    isPipelined: boolean,
  ): Exchange['overlap'] {
    if (isPipelined || (connection && caller.underWay.includes(connection))) return 'connection'
    // Whoever opens another connection before the last answer has more than one request to send.
    const span = spanOf(connection)
    const isEager = span?.isUsed === false && span.opened < (caller.answered ?? 0)
    return caller.underWay.length > 0 || isEager ? 'key' : 'none'
  }

  function numberOf(connection: Connection | undefined): number | null {
    if (!connection) return null
    const number = numbers.get(connection) ?? ++connections
    numbers.set(connection, number)
    return number
  }
}

interface Caller {
  /** The connections of the requests in flight. */
  readonly underWay: (Connection | undefined)[]
  /** Whether `last` is the connection of its last answer. */
  isKnown: boolean
  last: Connection | undefined
  /** When its last answer was given, on the count of its connections. */
  answered: number | undefined
}

function newCaller(isKnown: boolean): Caller {
  return { underWay: [], isKnown, last: undefined, answered: undefined }
}

/** Whether the client that opened this connection can have read the last answer on that one. */
function isAfter(connection: Connection | undefined, last: Connection | undefined): boolean {
  const [span, before] = [spanOf(connection), spanOf(last)]
  if (span === before || !span || !before) return true
  return before.ended !== undefined && before.ended < span.opened
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
export interface ConnectionSpan extends Connection {
  readonly opened: number
  readonly ended: number | undefined
  /** Whether a request has arrived on it, of whatever kind. */
  readonly isUsed: boolean
  use(): void
  /** Counts an answer on it. */
  mark(): number
}

/** @returns opens a connection */
export function createConnections(): () => ConnectionSpan {
  let events = 0
  return () => {
    const span = {
      opened: ++events,
      ended: undefined as number | undefined,
      isUsed: false,
      use() {
        span.isUsed = true
      },
      mark: () => ++events,
      end() {
        span.ended ??= ++events
      },
    }
    return span
  }
}
