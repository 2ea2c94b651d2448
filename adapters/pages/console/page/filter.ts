import { OPERATIONS } from '../../../../src/pets/specification.js'
import type { Listed } from '../exchange-detail.js'
import { OUTCOMES, type Outcome, outcomeOf } from '../outcome.js'
import type { Row } from './stream.js'

export const EVERYTHING = {
  /** Matches a part of the request line, the key, the client or the reason. */
  search: '',
  keyId: '',
  operation: '',
  status: '',
  /** First second of the selected bar of the chart. */
  bar: '',
  /** Epoch and number of the last request that was cleared. */
  after: '',
}
export type Filter = typeof EVERYTHING

/** Seconds per bar: few enough to see a burst, while five minutes fit on a phone. */
export const BAR = 5

export const EVERY_OPERATION = [
  ['', 'Every operation'],
  ...OPERATIONS.map(name => [name, name] as const),
] as const

export const OUTCOME_NAMES: Record<Outcome, string> = {
  ok: '2xx',
  refused: '4xx',
  limited: '429',
  banned: 'Banned',
  failed: '5xx or no response',
}

export const EVERY_STATUS = [
  ['', 'Every status'],
  ...OUTCOMES.map(outcome => [outcome, OUTCOME_NAMES[outcome]] as const),
] as const

export function fits(row: Row, { search, keyId, operation, status, bar, after }: Filter): boolean {
  const [epoch = 0, n = 0] = after.split('-').map(Number)
  if (row.epoch < epoch || (row.epoch === epoch && row.n <= n)) return false
  if (bar !== '' && (row.second < Number(bar) || row.second >= Number(bar) + BAR)) return false
  if (keyId !== '' && row.sender !== keyId) return false
  if (operation !== '' && (row.operation ?? 'none') !== operation) return false
  if (search !== '' && !textOf(row).includes(search.toLowerCase())) return false
  return status === '' || outcomeOf(row) === status
}

export function targetOf({ path, query }: Listed): string {
  return query === '' ? path : `${path}?${query}`
}

function textOf(row: Listed): string {
  const { method, sender, client, code, message, hints } = row
  const texts = [`${method} ${targetOf(row)}`, sender, client, code, message, ...hints]
  return texts.join('\n').toLowerCase()
}

/** Consecutive requests that differ only in time and connection, newest first. */
export type Group = readonly [Row, ...Row[]]

/** @param rows newest first */
export function grouped(rows: readonly Row[], isFolded: boolean): readonly Group[] {
  const groups: [Row, ...Row[]][] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (isFolded && last && identityOf(last[0]) === identityOf(row)) last.push(row)
    else groups.push([row])
  }
  return groups
}

function identityOf({ n, journal, connection, at, second, durationMs, ...row }: Row): string {
  return JSON.stringify({ ...row, remaining: null, reset: null, retryAfter: null })
}
