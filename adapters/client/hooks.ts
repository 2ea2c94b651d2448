/**
 * Reason of a wait: the `limit` is exhausted; it is the turn of `others` on the key; a request was
 * `rejected` with 429; the key is `banned`; a failed request waits for its `retry`.
 */
export type WaitReason = 'limit' | 'others' | 'rejected' | 'banned' | 'retry'

export interface Wait {
  readonly reason: WaitReason
  /** In ms since the epoch. */
  readonly until: number
  readonly waitMs: number
}

export interface Sending {
  readonly method: string
  readonly url: string
  /** 1 for the first. */
  readonly attempt: number
}

/** A failed request before its retry. */
export interface Retrying extends Sending {
  readonly error: Error
  /** Minimum wait, in ms. */
  readonly waitMs: number
}

/** The Redis of `shared` failed: the process throttles on its own. */
export interface Degraded {
  readonly error: unknown
}
