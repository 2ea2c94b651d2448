/**
 * Reads `Retry-After` (RFC 9110 §10.2.3) for clients, for which waiting is the safe choice:
 * fractions count too, and of copies that a proxy joined with commas, the longest. More than ten
 * digits are ignored.
 * @returns seconds, or the instant in ms since the epoch; neither if it is unreadable
 */
export function readRetryAfterLeniently(text: string | null): { seconds?: number; date?: number } {
  if (text === null) return {}
  const numbers = text.split(/, */)
  if (numbers.every(number => /^\d{1,10}(\.\d{1,10})?$/.test(number))) {
    return { seconds: Math.max(...numbers.map(Number)) }
  }
  const date = readHttpDate(text)
  return date === undefined ? {} : { date }
}

/**
 * Returns when the next attempt is allowed, in ms since the epoch; undefined if malformed.
 * @param answeredAt when the response was sent, in ms since the epoch
 */
export function retryInstant(
  text: string | null | undefined,
  answeredAt: number,
): number | undefined {
  if (text && /^\d+$/.test(text)) return answeredAt + Number(text) * 1_000
  return readHttpDate(text ?? null)
}

/** Parses all three forms of RFC 9110 §5.6.7; undefined for anything else. asctime implies GMT. */
export function readHttpDate(text: string | null): number | undefined {
  if (text === null || !HTTP_DATE.test(text)) return undefined
  const instant = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(instant) ? undefined : instant
}

/** Only GMT: `Date.parse` would shift any other time zone by hours. */
const HTTP_DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)([a-z]*, [\w -]+ [\d:]+ GMT| \w{3} [ \d]\d [\d:]+ \d{4})$/
