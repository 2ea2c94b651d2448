/**
 * Why a client waits: the `limit` is exhausted; it is the turn of `others` on the key; a
 * request was `rejected` with 429; the key is `banned`; a request failed, before its `retry`.
 */
export type WaitReason = 'limit' | 'others' | 'rejected' | 'banned' | 'retry'

export interface Wait {
  readonly reason: WaitReason
  /** In ms since the epoch. */
  readonly until: number
  /** How long that is from now. */
  readonly waitMs: number
}

/** A request about to be sent. */
export interface Sending {
  readonly method: string
  readonly url: string
  /** 1 for the first. */
  readonly attempt: number
}

/** A request that failed and is sent again. */
export interface Retrying extends Sending {
  readonly error: Error
  /** The least it waits, in ms. */
  readonly waitMs: number
}
