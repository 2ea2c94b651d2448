import type { Level, Reply } from './check-types.js'

/** A broken requirement: the request, the reply, and the expectation. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure'
  readonly sent: string
  readonly came: Reply | string
  readonly expected: string
  /** Part of the reply that breaks the requirement. */
  readonly guilty: string | undefined
  /** Overrides the level of the check. */
  readonly level: Level | undefined

  constructor(given: FailureOptions) {
    super(`Sent ${given.sent}. Expected ${given.expected}.`)
    this.sent = given.sent
    this.came = given.came
    this.expected = given.expected
    this.guilty = given.guilty
    this.level = given.level
  }
}

export interface FailureOptions {
  readonly sent: string
  readonly came: Reply | string
  readonly expected: string
  readonly guilty?: string | undefined
  readonly level?: Level | undefined
}

/** The server gave the check nothing to look at. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped'
}
