import { CheckFailure } from './check-failure.js'
import type { Reply } from './check-types.js'

/** @param guilty part of the body that breaks the requirement @throws CheckFailure */
export function that(
  reply: Reply,
  holds: boolean,
  expected: string,
  guilty?: string,
): asserts holds {
  if (holds) return
  throw new CheckFailure({ sent: reply.sent, came: reply, expected, guilty })
}

/** @param issue describes what is expected instead; undefined if nothing is wrong */
export function noIssue(reply: Reply, issue: string | undefined, guilty?: string): void {
  that(reply, issue === undefined, issue ?? '', guilty)
}

export function status(reply: Reply, ...statuses: readonly number[]): void {
  that(reply, statuses.includes(reply.status), statuses.join(' or '))
}

/** For requests that the specification leaves open. @returns true if it was not refused */
export function refusalOr(reply: Reply, ...statuses: readonly number[]): boolean {
  const isServed = statuses.includes(reply.status)
  const isRefusal = reply.status >= 400 && reply.status < 500
  const alternatives = [...statuses, 'a status from 400 to 499'].join(' or ')
  that(reply, isRefusal || isServed, alternatives)
  return isServed
}

export function isJsonType({ headers }: Reply): boolean {
  return /^\s*application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '')
}
