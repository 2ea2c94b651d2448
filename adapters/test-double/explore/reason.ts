import type { Report } from '../../verdict/report.js'
import type { EndlessError } from './virtual-time.js'
import type { Sent } from './watch-requests.js'

/** @param what has happened, such as `the work failed` */
export function problemOf(what: string, error: unknown) {
  return { reason: `${what}: ${describe(error)}`, error }
}

export function reportReason({ findings }: Report): string {
  const first = findings.find(({ allowed }) => !allowed)
  return `the verdict: ${first ? `${first.rule}: ${oneLine(first.seen)}` : 'no requests arrived'}`
}

/** @param waits the waiting calls, such as `fetch at client.js:12` */
export function endlessReason(
  { message }: EndlessError,
  requests: readonly Sent[],
  waits: readonly string[] = [],
): string {
  const places = waits.length === 0 ? '' : `; waiting: ${waits.join(', ')}`
  return `the work ${message}, ${lastRequest(requests)}${places}`
}

export function lastRequest(requests: readonly Sent[]): string {
  const last = requests.at(-1)
  if (!last) return 'before its first request'
  const { point, isHanging, status } = last
  if (isHanging) return `as ${point} hangs and the call has no signal to end it`
  return `after ${point}${status === undefined ? ', which has no response yet' : ` (${status})`}`
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error))
  const because = error.cause instanceof Error ? ` (${oneLine(error.cause.message)})` : ''
  return oneLine(`${error.name}: ${error.message}`) + because
}

const LONGEST = 300

function oneLine(text: string): string {
  const line = text
    .split('\n')
    .map(part => part.trim())
    .filter(part => part !== '')
    .join(' ')
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line
}
