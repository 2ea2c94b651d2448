import { OPERATIONS } from '../../../../src/pets/specification.js'
import type { Listed } from '../exchange-detail.js'
import { OUTCOMES, type Outcome, outcomeOf } from '../outcome.js'
import type { Row } from './stream.js'

/** Shows all requests. */
export const EVERYTHING = {
  /** A part of the request line, the key, the client or the reason. */
  search: '',
  keyId: '',
  operation: '',
  status: '',
  /** The first second of a bar of the chart. */
  bar: '',
  /** Requests up to this one have been cleared: epoch and number. */
  after: '',
}
export type Filter = typeof EVERYTHING

export const NO_KEY = 'no key'

/** Seconds in a bar of the chart: few enough to see a burst, and five minutes fit on a phone. */
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
  failed: '5xx and lost',
}

export const EVERY_STATUS = [
  ['', 'Every status'],
  ...OUTCOMES.map(outcome => [outcome, OUTCOME_NAMES[outcome]] as const),
] as const

export function fits(row: Row, { search, keyId, operation, status, bar, after }: Filter): boolean {
  const [epoch = 0, n = 0] = after.split('-').map(Number)
  if (row.epoch < epoch || (row.epoch === epoch && row.n <= n)) return false
  if (bar !== '' && (row.second < Number(bar) || row.second >= Number(bar) + BAR)) return false
  if (keyId !== '' && (row.keyId ?? NO_KEY) !== keyId) return false
  if (operation !== '' && (row.operation ?? 'none') !== operation) return false
  if (search !== '' && !textOf(row).includes(search.toLowerCase())) return false
  return status === '' || outcomeOf(row) === status
}

export function targetOf({ path, query }: Listed): string {
  return query === '' ? path : `${path}?${query}`
}

function textOf(row: Listed): string {
  const { method, keyId, client, code, message, hints } = row
  return [`${method} ${targetOf(row)}`, keyId, client, code, message, ...hints]
    .join('\n')
    .toLowerCase()
}

/** Requests that follow each other and are equal but for their time and connection, newest first. */
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

function identityOf({ n, journal, connection, at, second, ms, ...row }: Row): string {
  return JSON.stringify({ ...row, remaining: null, reset: null, retryAfter: null })
}
