import { SECOND } from '../../src/limits/windows-and-bans.js'

const LONGEST_BACKOFF = 60 * SECOND
const MOST_JITTER = 30 * SECOND

export interface Failure {
  /** In ms. */
  readonly requested: number | undefined
  /** Earlier retries of the same request. */
  readonly retries: number
  /** The previous response was a 429 too, so its requested wait was too short. */
  readonly again: boolean
}

/**
 * In ms: the requested wait plus jitter, because all clients of a key are asked to wait until the same
 * instant, else exponential backoff with full jitter.
 */
export function waitBefore({ requested, retries, again }: Failure, random: () => number): number {
  const backoff = () =>
    Math.max(SECOND, random() * Math.min(LONGEST_BACKOFF, SECOND * 2 ** retries))
  if (requested === undefined) return backoff()
  const wait = again ? Math.max(requested, backoff()) : requested
  return wait + random() * Math.min(MOST_JITTER, SECOND + wait / 10)
}
