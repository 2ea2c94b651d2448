import { OptionError } from '../../src/options.js'

/** Ms since the Unix epoch, an ISO 8601 text with its time zone, or a Date. */
export type Instant = number | string | Date

/** Ms, or a number with its unit: `500ms`, `61s`, `1m`, `24h`, `1d`. */
export type Duration = number | string

/** @throws OptionError */
export function instantOf(value: Instant): number {
  const ms = typeof value === 'string' ? isoInstant(value) : value
  if ((typeof ms === 'number' || ms instanceof Date) && Math.abs(+ms) <= 8.64e15) return +ms
  throw new OptionError(
    `Expected an instant: ms since the Unix epoch or ISO 8601 like '2030-01-01T00:00:00Z', got ${show(value)}`,
  )
}

/** @throws OptionError */
export function durationOf(value: Duration): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(value)) ?? []
  const ms = typeof value === 'number' ? value : Number(count) * (UNITS.get(unit) ?? Number.NaN)
  if (ms >= 0 && ms <= 8.64e15) return ms
  throw new OptionError(
    `Expected a duration: ms of at least 0, or a text like '61s', '1m', '24h' or '1d', got ${show(value)}`,
  )
}

const UNITS = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** Without a time zone it would mean another instant on another machine: NaN. */
function isoInstant(text: string): number {
  const whole = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/
  return whole.test(text) ? Date.parse(text) : Number.NaN
}

function show(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 80)}'` : String(value)
}
