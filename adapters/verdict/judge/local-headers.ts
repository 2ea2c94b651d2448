import { readHttpDate } from '../../../src/lib/retry-after.js'
import { httpDate } from '../../../src/lib/time.js'
import { SECOND } from '../../../src/limits/windows-and-bans.js'
import type { Exchange } from '../log/exchange.js'

/** `Date` has whole seconds, and a response takes its time. In ms. */
const SAME_CLOCK = 2 * SECOND

/**
 * Has instants of a service with another clock mean the same here.
 *
 * @param isAny whether Reset may be a number of seconds, or an instant in ms
 */
export function createLocalHeaders(isAny: boolean) {
  return (headers: Exchange['headers'], answeredAt: number | null): Exchange['headers'] => {
    if (answeredAt === null) return headers
    const { 'x-ratelimit-reset': reset, 'retry-after': retryAfter } = headers
    const ahead = aheadOf(answeredAt, headers['date'])
    if (ahead === 0 && !isAny) return headers
    const instant = reset === undefined ? undefined : resetInstant(reset, isAny, answeredAt, ahead)
    const retryAt = readHttpDate(retryAfter ?? null)
    return {
      ...headers,
      ...(instant !== undefined && { 'x-ratelimit-reset': String(Math.floor(instant / SECOND)) }),
      ...(retryAt !== undefined && { 'retry-after': httpDate(retryAt - ahead) }),
    }
  }
}

/** By how many ms the clock of the service is ahead of ours at most; 0 where they agree. */
function aheadOf(answeredAt: number, date: string | undefined): number {
  const sentAt = readHttpDate(date ?? null)
  if (sentAt === undefined || Math.abs(sentAt - answeredAt) <= SAME_CLOCK) return 0
  return sentAt + SECOND - answeredAt
}

/** In the year 2001, in seconds and in ms: no instant is earlier, and no duration is longer. */
const FIRST_SECOND = 1e9
const FIRST_MS = 1e12

function resetInstant(
  text: string,
  isAny: boolean,
  answeredAt: number,
  ahead: number,
): number | undefined {
  if (!/^\d+$/.test(text)) return undefined
  const number = Number(text)
  if (isAny && number < FIRST_SECOND) return answeredAt + number * SECOND
  return (isAny && number >= FIRST_MS ? number : number * SECOND) - ahead
}
