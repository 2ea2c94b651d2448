import { SECOND } from '../../src/limits/windows-and-bans.js'

const LONGEST_BACKOFF = 60 * SECOND
const MOST_JITTER = 30 * SECOND

export interface Failure {
  /** How long the response asks to wait, in ms. */
  readonly requested: number | undefined
  /** Earlier retries of the same request. */
  readonly retries: number
  /** Whether the previous response was a 429 too, so that its requested wait was too short. */
  readonly again: boolean
}

/**
 * How long to wait before the next attempt, in ms. Never less than requested, plus jitter, because
 * all clients of a key are asked to wait until the same instant. If the response requests no wait,
 * exponential backoff with full jitter, at least a second.
 */
export function waitBefore({ requested, retries, again }: Failure, random: () => number): number {
  const backoff = () =>
    Math.max(SECOND, random() * Math.min(LONGEST_BACKOFF, SECOND * 2 ** retries))
  if (requested === undefined) return backoff()
  const wait = again ? Math.max(requested, backoff()) : requested
  return wait + random() * Math.min(MOST_JITTER, SECOND + wait / 10)
}
