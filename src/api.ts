import type { KnownKey } from './api-keys.js'
import type { Awaitable } from './awaitable.js'
import type { ApiError } from './errors.js'
import type { Operation } from './specification.js'

/** A request as a door hands it in: plain values, no socket. */
export interface ApiRequest {
  /** In capitals, as on the wire. */
  readonly method: string
  /** The path of the URL as sent, percent-encoding included, without the query. */
  readonly path: string
  /** What follows the `?`, without it; '' when there is none. */
  readonly query: string
  /** Names in lower case; a header that stands several times is joined with ', '. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Where it is larger than `maxBodyBytes`, the beginning, as soon as that can be seen. */
  readonly body?: Uint8Array | string | undefined
  /** The caller's address, for counting requests without a valid key. */
  readonly client?: string | undefined
  /**
   * Why a door could or would not read the request: counted like any other, and answered with this.
   */
  readonly refusal?: ApiError | undefined
}

/** The whole answer: what is not here is not sent. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For logs and journals, never sent: which operation was asked for, and by whom. */
  readonly about: {
    readonly operation?: Operation | undefined
    readonly key?: KnownKey | undefined
  }
}

/** What a door serves: a store, or something around one. */
export interface ApiHandler {
  /**
   * Never throws or rejects: whatever happens is an answer. It is there at once where nothing had to
   * be waited for.
   */
  handle(request: ApiRequest): Awaitable<ApiResponse>
  /** How much of a body a door reads before it stops. */
  readonly maxBodyBytes: number
  /** The path every base address ends with, such as `/v1`. */
  readonly basePath: string
}
