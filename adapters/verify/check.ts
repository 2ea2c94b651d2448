import type { Int64 } from '../../src/lib/int64.js'
import type { PetStatus } from '../../src/pets/specification.js'

/** One requirement of the API, under a permanent id. */
export interface Check {
  /** Its group and its name, such as `auth.unknown.list`. */
  readonly id: string
  readonly requirement: Requirement
  /** What has to hold, as a sentence. */
  readonly title: string
  /** The most requests it sends, besides those with the spare key. */
  readonly requests: number
  /** Without all of these it is skipped. */
  readonly needs?: readonly Need[]
  /** What to do about a failure that may not be the server's own. */
  readonly hint?: string
  /**
   * Whether it runs even when the server no longer answers.
   * @default false
   */
  readonly always?: boolean
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
 * - `limits`: may exhaust the spare key; only with `limits`
 * - `socket`: sends bytes of its own; not through a `fetch` function
 * - `description`: only with `openApiUrl`
 * - `idempotency`: only with `idempotency`
 */
export type Need = 'create' | 'getPet' | 'limits' | 'socket' | 'description' | 'idempotency'

/** The server under test, as checks see it. */
export interface Subject {
  readonly credentials: Credentials
  /** Without the origin, such as `/v1`. */
  readonly basePath: string
  readonly readOnly: boolean
  /** Whether `exchange` works: not through a `fetch` function. */
  readonly hasSockets: boolean
  /** A category that exists, as far as anyone can know. */
  readonly categoryId: Int64
  /** Sends within the budget of its key, and again after a 429 that others caused. */
  send(call: Call): Promise<Reply>
  /** `send`, or the reply to the same call from before. */
  once(call: Call): Promise<Reply>
  /** Writes to a connection of its own, and reads what comes back. */
  exchange(bytes: RawCall): Promise<RawExchange>
  /** A name by which everyone recognizes the animals of this run. */
  name(label: string): string
  /** The reply to the creation of an animal of this status, which is sent once. */
  creation(status: PetStatus): Promise<Reply>
  /** That animal. @throws CheckSkipped where it was not created */
  sample(status: PetStatus): Promise<Sample>
  /** Creates animals until the run has made this many. @throws CheckSkipped */
  fill(count: number): Promise<void>
  /** The spare key, used up: the same rejection for all checks until its wait is over. */
  exhausted(): Promise<Exhaustion>
  /** Forgets a rejection, as the spare key was used in the meantime. */
  renew(): void
  /** Resolves after this many ms. @throws CheckSkipped if that is longer than the run may wait */
  wait(ms: number, reason: string): Promise<void>
  /** The server's time, as far as known, in ms since the epoch. */
  now(): number
  /** The description at `openApiUrl`, downloaded once. */
  description(): Promise<Reply>
}

export interface Credentials {
  /** The API key. */
  readonly valid: Credential
  readonly none: Credential
  /** A key that the server cannot know. */
  readonly unknown: Credential
  /** The key that may be exhausted; undefined without one. */
  readonly spare: Credential | undefined
  /** A credential made from the API key. The label stands for it in reports. */
  altered(label: string, authorization: (key: string) => string, isValid?: boolean): Credential
  /** A credential that has nothing to do with the API key. */
  foreign(label: string, authorization: string): Credential
}

/** What a request presents, and what reports show instead of it. */
export interface Credential {
  readonly label: string
  readonly authorization: string | undefined
  /** Whose budget it uses. */
  readonly budget: 'key' | 'spare key' | 'no key'
}

export interface Call {
  /** @default 'GET' */
  readonly method?: string
  /** Below the base address, such as `/pets?limit=1`. */
  readonly path: string
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
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** An animal of this run, with the reply that created it. */
export interface Sample {
  readonly created: Reply
  readonly id: Int64
  readonly name: string
  readonly status: PetStatus
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

export interface RawCall {
  /** In words, for reports. */
  readonly what: string
  /** The bytes; `{host}`, `{origin}`, `{base}` and `{key}` are filled in. */
  readonly text: string
  /** Methods of the requests within: it ends with as many responses, or with the connection. */
  readonly methods: readonly string[]
  /** This many spaces follow, then this text. */
  readonly padding?: { readonly bytes: number; readonly then: string }
}

export interface RawExchange {
  /** In order, at most one for each method. */
  readonly replies: readonly Reply[]
  /** What came after them. */
  readonly rest: string
  readonly closed: boolean
  /** Whether all of the padding was sent. */
  readonly written: boolean
}

export function must(source: string): Requirement {
  return { level: 'MUST', source }
}

export function should(source: string): Requirement {
  return { level: 'SHOULD', source }
}
