import type { Level, Reply } from './check-types.js'

/** A broken requirement: the request, the reply, and the expectation. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure'
  declare readonly sent: string
  declare readonly came: Reply | string
  declare readonly expected: string
  /** Part of the reply that breaks the requirement. */
  declare readonly guilty: string | undefined
  /** Overrides the level of the check. */
  declare readonly level: Level | undefined

  constructor({ sent, came, expected, guilty, level }: FailureOptions) {
    super(`Sent ${sent}. Expected ${expected}.`)
    Object.assign(this, { sent, came, expected, guilty, level })
  }
}

type FailureOptions = Pick<CheckFailure, 'sent' | 'came' | 'expected'> &
  Partial<Pick<CheckFailure, 'guilty' | 'level'>>

/** The server gave the check nothing to look at. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped'
}
