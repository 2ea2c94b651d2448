import type { Int64 } from '../../src/lib/int64.js'
import type { WaitReason } from '../client/hooks.js'
import type { Credential } from './credentials.js'

/** One requirement of the API, under a permanent id. */
export interface Check {
  /** Its group and its name, such as `auth.unknown.list`. */
  readonly id: string
  readonly requirement: Requirement
  /** What has to hold, as a sentence. */
  readonly title: string
  /** The most requests it sends, besides those with the spare key. */
  readonly maxRequests: number
  /** Without all of these it is skipped. */
  readonly needs: readonly Need[]
  /** What to do about a failure that may not be the server's own. */
  readonly hint?: string | undefined
  /** Whether it runs even when the server no longer answers. */
  readonly always: boolean
  /** @throws CheckFailure, or CheckSkipped where the server gives it nothing to look at */
  run(subject: Subject): Promise<void>
}

export interface Requirement {
  /** MUST is fixed by the specification or an RFC; SHOULD is common practice. */
  readonly level: Level
  /** With its section, such as `spec §5` or `RFC 9110 §15.5.2`. */
  readonly source: string
}

export type Level = 'MUST' | 'SHOULD'

/**
 * - `create`: may create animals; not with `readOnly`
 * - `getPet`: the deprecated operation; not after its removal
 * - `exhaust`: may exhaust the spare key
 * - `socket`: a connection of its own; not through a `fetch` function
 * - `description`: only with `openApiUrl`
 * - `idempotency`: only with `idempotency`
 */
export type Need = 'create' | 'getPet' | 'exhaust' | 'socket' | 'description' | 'idempotency'

/** What the calls of a run are made of. */
export interface Names {
  /** A name by which everyone recognizes the animals of this run. */
  name(label: string): string
  /** A category that exists, as far as anyone can know. */
  readonly categoryId: Int64
  /** Of the server, such as `http://127.0.0.1:4280`. */
  readonly origin: string
  /** Without the origin, such as `/v1`. */
  readonly basePath: string
}

/** The server under test, as checks see it. */
export interface Subject extends Names {
  readonly readOnly: boolean
  /** What came so far, without the bodies of successes. */
  readonly seen: readonly Reply[]
  /** Whether a text holds a key. */
  leaks(text: string): boolean
  /** Sends within the budget of its key, and again after a 429 that others caused. */
  send(call: Call): Promise<Reply>
  /** `send`, or the reply to the same call from before. */
  once(call: Call): Promise<Reply>
  /** Sends calls in turn on one connection, as long as the server keeps it open. */
  sendTogether(calls: readonly Call[]): Promise<readonly Reply[]>
  /** The spare key, used up: the same rejection for all checks until its wait is over. */
  exhausted(): Promise<Exhaustion>
  /** Forgets a rejection, as the spare key was used in the meantime. */
  renew(): void
  /** Resolves after this many ms. @throws CheckSkipped if that is longer than the run may wait */
  wait(ms: number, reason: WaitReason): Promise<void>
  /** The server's time, as far as known, in ms since the epoch. */
  now(): number
  /** The description at `openApiUrl`, downloaded once. */
  description(): Promise<Reply>
}

export interface Call {
  /** @default 'GET' */
  readonly method?: string
  /** Below the base address, such as `/pets?limit=1`; `{key}` stands for the API key. */
  readonly path: string
  /** `{key}` stands for the API key. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** @default the API key */
  readonly as?: Credential
  /**
   * Returns a 429 as it is, instead of waiting and sending again.
   * @default false
   */
  readonly keeps429?: boolean
  /**
   * Sends even when the budget is exhausted, and returns a 429 as it is.
   * @default false
   */
  readonly impatient?: boolean
}

export interface Reply {
  /** The request in words, without keys. */
  readonly sent: string
  readonly method: string
  /** As sent, with the path of the base address. */
  readonly target: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** What happened when a key was used up. */
export interface Exhaustion {
  /** The first reply. */
  readonly first: Reply
  /** The last reply that was not 429; undefined if the first was 429. It ends where it is not 200. */
  readonly last: Reply | undefined
  /** Undefined where nothing is rejected. */
  readonly rejection: Reply | undefined
  /** When the rejection came, by the clock of the subject. */
  readonly at: number
}
