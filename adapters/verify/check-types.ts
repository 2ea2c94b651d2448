import type { Int64 } from '../../src/lib/int64.js'
import type { PetStatus } from '../../src/pets/specification.js'
import type { WaitReason } from '../client/hooks.js'
import type { Credential } from './credentials.js'

/** A requirement of the API with a permanent id. */
export interface Check {
  /** Group and name, such as `auth.exact`. */
  readonly id: string
  readonly requirement: Requirement
  readonly title: string
  /** Maximum requests, besides those with the spare key. */
  readonly maxRequests: number
  readonly needs: readonly Need[]
  /** Advice on a failure that may not be the server's own. */
  readonly hint?: string | undefined
  /** @throws CheckFailure, or CheckSkipped if the server gives it nothing to look at */
  run(subject: Subject): Promise<void>
}

export interface Requirement {
  /** MUST is fixed by the specification or an RFC; SHOULD is common practice. */
  readonly level: Level
  /** Source with its section, such as `spec §5` or `RFC 9110 §15.5.2`. */
  readonly source: string
}

export type Level = 'MUST' | 'SHOULD'

/** A check is skipped if the options exclude a need, or once `getPet` has been removed. */
export type Need = 'create' | 'getPet' | 'exhaust' | 'socket' | 'description' | 'idempotency'

export interface Names {
  /** Makes a name by which everyone recognizes this run's animals. */
  name(label: string): string
  /** A category that exists, as far as known. */
  readonly categoryId: Int64
  /** A status with few animals, so that one page shows them all. */
  readonly status: PetStatus
  readonly origin: string
  /** Path of the base address, such as `/v1`; '' at the root. */
  readonly basePath: string
}

export interface Subject extends Names {
  readonly readOnly: boolean
  /** Replies so far, without the bodies of successes. */
  readonly seen: readonly Reply[]
  leaks(text: string): boolean
  /** Sends within the budget of the key, and again after a 429 that others caused. */
  send(call: Call): Promise<Reply>
  /** Sends a call unless its reply is known already. */
  once(call: Call): Promise<Reply>
  /** Sends calls in turn on one connection, as long as the server keeps it open. */
  sendTogether(calls: readonly Call[]): Promise<readonly Reply[]>
  /** Exhausts the spare key; all checks get the same rejection until its wait is over. */
  exhausted(): Promise<Exhaustion>
  /** Forgets the rejection, because the spare key was used in the meantime. */
  renew(): void
  /** Waits some ms. @throws CheckSkipped if that is longer than the run may wait */
  wait(ms: number, reason: WaitReason): Promise<void>
  /** The server's time, as far as known, in ms since the epoch. */
  now(): number
  description(): Promise<Reply>
}

/** In the path and in headers, `{key}` stands for the API key. */
export interface Call {
  /** @default 'GET' */
  readonly method?: string
  /** Below the base address, such as `/pets?limit=1`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** @default the API key */
  readonly as?: Credential
  /** Returns a 429 instead of waiting and sending again. @default false */
  readonly keeps429?: boolean
  /** Returns a read that does not show what was created just before. @default false */
  readonly isImmediate?: boolean
  /** Sends even if the budget is exhausted, and returns a 429. @default false */
  readonly impatient?: boolean
}

export interface Reply {
  /** The request in words, without keys. */
  readonly sent: string
  readonly method: string
  /** Request target, including the path of the base address. */
  readonly target: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

export interface Exhaustion {
  readonly first: Reply
  /** The last reply before the 429 or another failure; undefined if the first was 429. */
  readonly last: Reply | undefined
  /** Undefined if nothing was rejected. */
  readonly rejection: Reply | undefined
  /** Time of the rejection, by the clock of the subject. */
  readonly at: number
}
