import type { RateLimit } from '../../src/errors.js'
import { SECOND } from '../../src/limits/windows-and-bans.js'
import { type Limits, readCount, readLimits, toRateLimit } from './headers.js'

/**
 * Which headers describe the limit of an API: `X-RateLimit-Limit`, `-Remaining` and `-Reset`, an
 * instant or a number of seconds; `RateLimit` and `RateLimit-Policy` as in any version of
 * draft-ietf-httpapi-ratelimit-headers; or none but `Retry-After`.
 */
export type LimitHeaders = 'x-ratelimit' | 'ratelimit-draft' | 'retry-after'

/** @param now local time, in ms since the epoch */
export function readLimitsOf(style: LimitHeaders, headers: Headers, now: number): Limits {
  const limits = readLimits(headers)
  // Where seconds are counted from the response, the local clock is as good as `Date`.
  const sentAt = limits.sentAt ?? now
  if (style === 'ratelimit-draft') {
    return { ...limits, sentAt, rateLimit: fromNow(readDraft(headers), sentAt) }
  }
  if (style === 'retry-after') return { ...limits, rateLimit: undefined }
  const { rateLimit } = limits
  if (!rateLimit || rateLimit.reset === 0 || rateLimit.reset >= FIRST_SECOND) return limits
  return { ...limits, sentAt, rateLimit: fromNow(rateLimit, sentAt) }
}

/** In the year 2001: no reset is earlier, so smaller numbers are durations. */
const FIRST_SECOND = 1e9

function fromNow(found: RateLimit | undefined, sentAt: number): RateLimit | undefined {
  return found && { ...found, reset: Math.round(sentAt / SECOND) + found.reset }
}

/**
 * The reset is in seconds from the response. Up to version 6 there are three fields, in 7 one with
 * three values, since 8 a list of limits, of which the one that is exhausted first counts.
 */
function readDraft(headers: Headers): RateLimit | undefined {
  const field = headers.get('ratelimit')
  if (field === null) {
    return toRateLimit(name =>
      readCount(headers.get(`ratelimit-${name}`)?.split(/[,;]/)[0] ?? null),
    )
  }
  if (/^\s*limit=/.test(field)) return toRateLimit(name => parameter(field, name))
  const [least] = itemsOf(field).sort((one, other) => left(one) - left(other))
  if (least === undefined || left(least) === Number.POSITIVE_INFINITY) return undefined
  const policies = itemsOf(headers.get('ratelimit-policy') ?? '')
  const policy = policies.find(policy => nameOf(policy) === nameOf(least)) ?? ''
  // Without a policy, the client takes itself to be alone.
  const limit = Math.max(parameter(policy, 'q') ?? 0, left(least) + 1)
  const reset = parameter(least, 't')
  return reset === undefined ? undefined : { limit, remaining: left(least), reset }
}

/** Each such as `"minute";r=59;t=60`. */
function itemsOf(field: string): string[] {
  return field.match(/"[^"]*"[^,"]*/g) ?? []
}

function nameOf(item: string): string {
  return item.slice(0, item.indexOf('"', 1) + 1)
}

function left(item: string): number {
  return parameter(item, 'r') ?? Number.POSITIVE_INFINITY
}

function parameter(text: string, name: string): number | undefined {
  return readCount(text.match(new RegExp(`(?:^|[;,\\s])${name}=(\\d+)`))?.[1] ?? null)
}
