import type { Sent } from '../log.js'
import type { ApiModel } from '../model/api.js'
import type { ActorSetting, CallPlan, StoreSetting } from '../scenario.js'
import type { Scheduler } from '../scheduler.js'

/** Somebody who uses the API. */
export interface Actor {
  /** Does one thing. Rejects with what its user would get; settles in the end, whatever happens. */
  act(call: CallPlan): Promise<unknown>
  /** Its calls have ended. */
  close?(): Promise<void>
}

export interface ActorContext {
  readonly setting: ActorSetting
  readonly hasIdempotency: boolean
  /** Of the server. */
  readonly options: StoreSetting
  readonly fetch: typeof fetch
  readonly sent: readonly Sent[]
  /** Its own clock, which may be off. */
  readonly clock: () => number
  readonly sleep: (ms: number, options?: { readonly signal?: AbortSignal }) => Promise<void>
  readonly after: Scheduler['after']
  readonly random: () => number
  /** Its API key, which changes. */
  readonly key: () => string
  readonly model: ApiModel
  /** Ends the world, from where nothing thrown would. */
  readonly fail: (error: unknown) => void
}

export interface ActorKind {
  /** It keeps to the rules: its requests are checked, and the verdict must not accuse it. */
  readonly isPolite?: boolean
  readonly create: (context: ActorContext) => Actor
}

export type { CallPlan }

export const BASE_URL = 'http://store.test/v1'

const PATIENCE = 30_000

/** A `fetch` that gives up, as every client has to. */
export function impatient(context: ActorContext): typeof fetch {
  return (input, init) =>
    within(context, PATIENCE, signal => context.fetch(input, { ...init, signal }))
}

/** Does something that is aborted after some ms. */
export async function within<T>(
  { after }: ActorContext,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const cancel = after('time limit', ms, () => limit.abort(new Error('No answer')))
  try {
    return await work(limit.signal)
  } finally {
    cancel()
  }
}
