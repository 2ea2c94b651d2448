import type { Agent, IncomingMessage } from 'node:http'
import type { ConnectionSpan } from '../../verdict/callers.js'

/** A connection of the client, and the one to the service that belongs to it. */
export interface Line {
  readonly span: ConnectionSpan
  readonly agent: Agent
  /** Closes an idle connection of the client, as the service has closed its own. */
  readonly onServiceEnd: () => void
  /** Keeps the socket working for the responses before a CONNECT. */
  readonly takeOver: () => void
  /** The end of the latest exchange: pipelined requests are sent one after the other. */
  turn: Promise<void>
  pending: number
  /** The request that arrived last, perhaps not all of it yet. */
  latest: IncomingMessage | undefined
}
