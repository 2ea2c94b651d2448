import { check, LONGEST_TIMER, type Rule, rule, type TimeRule } from './check-options.js'

/** Ms since the Unix epoch, an ISO 8601 string with a time zone, or a Date. */
export type Instant = number | string | Date

/** Ms, or a number with a unit: `500ms`, `61s`, `1m`, `24h`, `1d`. */
export type Duration = number | string

/** Bounds of HTTP-dates and ISO 8601, with room for a running clock to go on. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z')
export const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

export const isClockTime: Rule = {
  expected: 'milliseconds since the Unix epoch, in the years 0000 to 9999',
  accepts: value => typeof value === 'number' && value >= EARLIEST && value <= LATEST,
}

const YEARS = 'an instant in the years 0000 to 9999'
/** For the command line, which takes no bare number. */
export const INSTANT_TEXT = `${YEARS} in ISO 8601, such as 2030-01-01T00:00:00Z`

export function instantOf(name: string, value: Instant): number {
  check(name, value, isInstant)
  return msOfInstant(value)
}

export function durationOf(name: string, value: Duration): number {
  check(name, value, isAnyDuration)
  return msOfDuration(value)
}

/** Includes fractions of a ms. */
const isAnyDuration = rule(
  "a duration: ms of at least 0, or a text like '61s', '1m', '24h' or '1d'",
  value => msOfDuration(value) >= 0 && msOfDuration(value) <= Number.MAX_SAFE_INTEGER,
)

export const isInstant: TimeRule<Instant> = {
  expected: `${YEARS}: ms, not seconds, since the Unix epoch, or ISO 8601 like '2030-01-01T00:00:00Z'`,
  accepts: value => isClockTime.accepts(msOfInstant(value)),
  read: msOfInstant,
}

export const isDuration = durationFrom(0)
/** A duration that a timer can wait for. */
export const isTimeout = durationFrom(1, LONGEST_TIMER)

export function durationFrom(least: number, most = Number.MAX_SAFE_INTEGER): TimeRule<Duration> {
  const end = most < Number.MAX_SAFE_INTEGER ? ` to ${most}` : ''
  return {
    expected: `a duration in whole ms from ${least}${end}, or a text like '500ms' or '61s'`,
    accepts: value => {
      const ms = msOfDuration(value)
      return Number.isInteger(ms) && ms >= least && ms <= most
    },
    read: msOfDuration,
  }
}

/** NaN for anything else. */
function msOfInstant(value: unknown): number {
  const ms = typeof value === 'string' ? isoInstant(value) : value
  return typeof ms === 'number' || ms instanceof Date ? +ms : Number.NaN
}

/** NaN for anything else. */
function msOfDuration(value: unknown): number {
  if (typeof value === 'number') return value
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(value)) ?? []
  return Number(count) * MS[unit as keyof typeof MS]
}

/** Formats a duration for people, in whole seconds: `23 h 59 min 12 s`. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const units = { h: seconds / 3_600, min: (seconds / 60) % 60, s: seconds % 60 }
  const parts = Object.entries(units).map(([unit, n]) => n >= 1 && `${Math.floor(n)} ${unit}`)
  return parts.filter(Boolean).join(' ') || '0 s'
}

/** Formats an IMF-fixdate (RFC 9110 §5.6.7), whose years have four digits. */
export function httpDate(instant: number): string {
  return new Date(Math.min(Math.max(instant, EARLIEST), LATEST)).toUTCString()
}

const MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** NaN without a time zone: the instant would depend on the machine. */
function isoInstant(text: string): number {
  const whole = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/
  // `Date.parse` reads 30 February as 2 March.
  const isDay = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))
  return whole.test(text) && isDay ? Date.parse(text) : Number.NaN
}
