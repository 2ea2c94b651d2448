import type { FaultKind } from '../../verdict/log/fault-kinds.js'
import type { JournalEntry } from '../../verdict/log/recorder.js'
import type { Report } from '../../verdict/report.js'
import { createPoints } from './schedule.js'
import type { EndlessError } from './virtual-time.js'
import type { Sent } from './watch-requests.js'

export function errorReason(error: unknown): string {
  return `the work failed: ${describe(error)}`
}

export function rejectionReason(error: unknown): string {
  return `the work leaves a rejection unhandled, which ends a process: ${describe(error)}`
}

export function invariantReason(error: unknown): string {
  return `the invariant failed: ${describe(error)}`
}

export function reportReason({ findings }: Report): string {
  const first = findings.find(({ allowed }) => !allowed)
  return `the verdict: ${first?.rule}: ${oneLine(first?.seen ?? '')}`
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

/** Names the responses that a fault has spoiled and whose requests were never retried, if any. */
export function unnoticed(requests: readonly JournalEntry[]): string | undefined {
  const pointOf = createPoints()
  const found = requests.flatMap(({ operation, fault, method, url }, at) => {
    const point = pointOf(operation ?? undefined)
    const what = SPOILED[fault ?? 'delay']
    const isSentAgain = requests
      .slice(at + 1)
      .some(later => later.method === method && later.url === url)
    return what === undefined || isSentAgain ? [] : [`${point} was ${what}`]
  })
  return found.join(', ') || undefined
}

const SPOILED: Partial<Record<FaultKind, string>> = {
  truncate: 'cut off',
  malformed: 'malformed',
  status: 'an error',
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
