import type { ApiError } from '../api-error.js'
import type { Awaitable } from '../lib/async.js'
import type { Operation } from '../pets/specification.js'
import type { IsGone } from '../ports.js'
import type { KnownKey } from './api-keys.js'
import type { Route } from './router.js'

export interface ApiRequest {
  /** In upper case, as on the wire. */
  readonly method: string
  /** Path of the URL as sent, percent-encoded, without the query. */
  readonly path: string
  /** Query string without the `?`, or ''. */
  readonly query: string
  /** True if there was a `?`, even with nothing after it. */
  readonly hasQuery?: boolean | undefined
  /** Names are in lower case; repeated headers are joined with ', '. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /**
   * A body above `maxBodyBytes` may be cut anywhere above it. A function is called at most once,
   * only if the headers allow the body; it rejects with the ApiError to respond with.
   */
  readonly body?: Uint8Array | string | (() => Awaitable<Uint8Array>) | undefined
  /** True if the adapter passes paths outside the API on to the app: their bodies stay unread. */
  readonly passesOn?: boolean | undefined
  /** Address of the caller, by which requests without a valid key are counted. */
  readonly client?: string | undefined
  /** Connection of the request, as returned by `ApiHandler.connect`. */
  readonly connection?: Connection | undefined
  /** True if sent before the previous response on its connection. */
  readonly pipelined?: boolean | undefined
  /** Returns true once the client has disconnected; a queued create is then dropped. */
  readonly isGone?: IsGone | undefined
  /** Why the adapter could not read the request, which is counted, then gets this error. */
  readonly refusal?: ApiError | undefined
  /** The result of `identify`. */
  readonly head?: RequestHead | undefined
}

export interface RequestHead {
  /** Undefined outside the base path. */
  readonly route: Route | undefined
  /** API key as sent, valid or not. */
  readonly token: string | undefined
}

/** The complete response, which adapters send unchanged. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Pieces of the body, encoded as `Content-Encoding` says, for clients that read slowly. */
  readonly pieces?: (() => Iterable<string | Uint8Array>) | undefined
  /** Sent instead of both as it arrives: a test double trickles bodies this way. */
  readonly stream?: (() => AsyncIterable<Uint8Array>) | undefined
  /** True for paths outside the base path, which an app may serve. */
  readonly outside?: boolean | undefined
  /** For logs and journals, never sent. */
  readonly about?: About | undefined
  /**
   * Delivers the answer in place of the Node adapter, which passes its `ServerResponse`. With status 0
   * the response never ends, and no adapter waits for it.
   */
  readonly deliver?: ((response: unknown) => void) | undefined
}

export interface Connection {
  /** Called when the client has ended the connection, possibly more than once. */
  end(): void
}

export interface Identity {
  readonly operation?: Operation | undefined
  readonly knownKey?: KnownKey | undefined
}

/** Facts that the response itself does not show. */
export interface About extends Identity {
  /** Code of the 429 that shadow mode suppressed. */
  readonly shadowed?: 'rate_limit_exceeded' | 'api_key_banned' | undefined
  /** `Location` of the stored animal, if a test double sends an error in place of the 201. */
  readonly location?: string | undefined
  /** Number in the journal of a test double. */
  readonly journal?: number | undefined
}

/** A store, or a wrapper around one. */
export interface ApiHandler {
  /** Never throws or rejects; answers synchronously when it can. */
  handle(request: ApiRequest): Awaitable<ApiResponse>
  /** Adapters stop reading a body beyond this size. */
  readonly maxBodyBytes: number
  /** Every base address ends with this path, such as `/v1`. */
  readonly basePath: string
  /** Called for each new connection, for handlers that track them. */
  connect?(): Connection
}
