import type { ApiError } from '../errors.js'
import type { Awaitable } from '../lib/async.js'
import type { Operation } from '../pets/specification.js'
import type { IsGone } from '../ports.js'
import type { KnownKey } from './api-keys.js'
import type { Route } from './router.js'

/** A request as a door passes it on: plain values, no socket. */
export interface ApiRequest {
  /** In upper case, as on the wire. */
  readonly method: string
  /** The path of the URL as sent, percent-encoding included, without the query. */
  readonly path: string
  /** The query string without the `?`; '' without one. */
  readonly query: string
  /** Whether there was a `?`, perhaps with nothing after it. */
  readonly hasQuery?: boolean | undefined
  /** Names in lower case; repeated headers joined with ', '. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /**
   * For a body above `maxBodyBytes`, any part above that size is enough. A function is called at
   * most once, only when the headers allow the body, and rejects with the ApiError to respond with.
   */
  readonly body?: Uint8Array | string | (() => Awaitable<Uint8Array>) | undefined
  /** Whether the door passes paths outside the API on to the app around it: their bodies stay unread. */
  readonly passesOn?: boolean | undefined
  /** Where an app has mounted the handler, such as `/store`; links in responses begin with it. */
  readonly mount?: string | undefined
  /** The caller's address. Requests without a valid key are counted by it. */
  readonly client?: string | undefined
  /** The connection it arrived on, as `ApiHandler.connect` returned it. */
  readonly connection?: Connection | undefined
  /** Whether it was sent before the response to the one ahead of it on its connection. */
  readonly pipelined?: boolean | undefined
  /** Whether the client has hung up. A create that the storage has not begun with by then never is. */
  readonly isGone?: IsGone | undefined
  /** Why a door could not read the request. It is counted like any other, then gets this error. */
  readonly refusal?: ApiError | undefined
  /** What `identify` has read of it, which `handle` need not read again. */
  readonly head?: RequestHead | undefined
}

/** The target and the credential of a request. */
export interface RequestHead {
  /** Undefined outside the base path. */
  readonly route: Route | undefined
  /** The API key as sent, if one was. */
  readonly token: string | undefined
}

/** The complete response: a door sends this and nothing else. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /**
   * What doors send instead of `body`, no faster than the client reads: the same text in pieces, or
   * as `Content-Encoding` says.
   */
  readonly pieces?: (() => Iterable<string | Uint8Array>) | undefined
  /** What doors send instead of both, as it comes: a test double has a body trickle this way. */
  readonly stream?: (() => AsyncIterable<Uint8Array>) | undefined
  /** True for paths outside the base path, which a door within another app passes on. */
  readonly outside?: boolean | undefined
  /** For logs and journals, never sent. */
  readonly about?: About | undefined
  /**
   * Delivers the answer instead of the Node door, which passes its `ServerResponse`. With status 0 it
   * never ends, and no door waits for it. A test double loses answers this way.
   */
  readonly deliver?: ((response: unknown) => void) | undefined
}

/** A connection, as tracked by a handler. */
export interface Connection {
  /** Called once the client has ended the connection; may be called again. */
  end(): void
}

/** Which operation a request is for, and whose key it carries. */
export interface Identity {
  readonly operation?: Operation | undefined
  readonly knownKey?: KnownKey | undefined
}

/** What a response does not show. */
export interface About extends Identity {
  /** The code of the 429 that it would have been, if the store were not in shadow mode. */
  readonly shadowed?: 'rate_limit_exceeded' | 'api_key_banned' | undefined
  /** The `Location` of a stored animal, where a test double sends an error in place of the 201. */
  readonly storedAt?: string | undefined
  /** Its number in the journal of a test double. */
  readonly journal?: number | undefined
}

/** What a door serves: a store, or a wrapper around one. */
export interface ApiHandler {
  /** Never throws or rejects. Answers synchronously when it can. */
  handle(request: ApiRequest): Awaitable<ApiResponse>
  /** How many bytes of a body a door reads before it stops. */
  readonly maxBodyBytes: number
  /** The path that every base address ends with, such as `/v1`. */
  readonly basePath: string
  /** For handlers that track connections: a door calls it when one opens. */
  connect?(): Connection
}
