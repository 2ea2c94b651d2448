import type { Usage } from '../../src/limits/decide.js'
import type { Policy } from '../../src/limits/plans.js'
import type { Entry } from '../exchanges/entry.js'

/** One message of `/_console/events`. */
export interface Update {
  /** The latest requests since the message before, oldest first. */
  readonly entries: readonly Listed[]
  /** How many more there were. */
  readonly omitted: number
  readonly traffic: readonly Second[]
  /** Real time, in ms. */
  readonly serverTime: number
  readonly state: WorldState
}

/** A request in the list. It contains only public API keys, as every message does. */
export interface Listed extends Entry {
  readonly n: number
  /** Its number in the journal of a test double. */
  readonly journal: number | null
  /** The address and the program of its sender, as far as they are known. */
  readonly client: string
  /** The `message` of the Error body. */
  readonly message: string | null
  /** What its sender probably meant, or would have got without shadow mode. */
  readonly hints: readonly string[]
}

/** Requests in one second of real time. */
export interface Second {
  /** Unix seconds. */
  readonly at: number
  /** In the order of `OUTCOMES`. */
  readonly counts: readonly number[]
}

export const OUTCOMES = ['ok', 'refused', 'limited', 'banned', 'failed'] as const
export type Outcome = (typeof OUTCOMES)[number]

export function outcomeOf({
  status,
  code,
  lost,
}: Pick<Entry, 'status' | 'code' | 'lost'>): Outcome {
  if (status === null || status >= 500 || lost) return 'failed'
  if (status === 429) return code === 'api_key_banned' ? 'banned' : 'limited'
  return status >= 400 ? 'refused' : 'ok'
}

/** What the page shows of a world at one moment. */
export interface WorldState {
  readonly now: number
  readonly frozen: boolean
  readonly keys: readonly KeyState[]
  /** How many more there are. */
  readonly moreKeys: number
}

export interface KeyState {
  readonly id: string
  readonly plan: string
  readonly policy: Policy
  /** The key itself, if it is public. */
  readonly key: string | null
  /** Null also while the store that counts is unavailable. */
  readonly usage: Usage | null
}

/** The answer of `/_console/info`. */
export interface Info {
  readonly basePath: string
  /** Which panels have a source. */
  readonly panels: {
    readonly animals: boolean
    readonly budgets: boolean
    readonly control: boolean
  }
  readonly worlds: readonly string[]
}

/** Everything about one exchange. */
export interface ExchangeDetail extends Listed {
  readonly request: Side
  readonly response: Side
  /** Programs that send the request again. */
  readonly programs: { readonly curl: string; readonly fetch: string }
}

export interface Side {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  /** How many characters of the body are left out. */
  readonly omitted: number
}

/** The answer of `GET /_console/animals`. */
export interface Animals {
  readonly animals: readonly Animal[]
  /** Whether there are others after these. */
  readonly more: boolean
}

export interface Animal {
  readonly id: number
  /** The beginning of a long one. */
  readonly name: string
  /** Digits: a browser would round the numbers of int64. */
  readonly categoryId: string
  readonly status?: string
}

export type { Edit } from './resend.js'
