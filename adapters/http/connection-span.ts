import type { ApiRequest } from '../../src/api.js'

/**
 * When a connection was opened and when the client ended it, both on one count of all such events
 * of this process: a request on a connection opened after another one ended was sent by somebody
 * who could have read the answer there.
 */
export interface ConnectionSpan {
  readonly opened: number
  ended?: number
}

/** A request that also tells which connection it came on. */
export interface ConnectedRequest extends ApiRequest {
  readonly connection?: ConnectionSpan
}

let events = 0

export function openSpan(): ConnectionSpan {
  return { opened: ++events }
}

export function endSpan(span: ConnectionSpan): void {
  span.ended ??= ++events
}
