import { OPERATIONS } from '../../../src/pets/specification.js'
import type { Listed } from '../messages.js'

/** Shows all requests. */
export const EVERYTHING = {
  /** A part of the request line, the key or the reason. */
  search: '',
  key: '',
  operation: '',
  status: '',
  /** Requests up to this number have been cleared. */
  after: '',
}
export type Filter = typeof EVERYTHING

export const NO_KEY = 'no key'

export const EACH_OPERATION = [
  ['', 'All operations'],
  ...OPERATIONS.map(name => [name, name] as const),
  ['none', 'Other'],
] as const

export const EACH_STATUS = [
  ['', 'Every status'],
  ['2', '2xx'],
  ['4', '4xx'],
  ['429', '429'],
  ['5', '5xx'],
  ['banned', 'Banned'],
  ['lost', 'Lost'],
] as const

export function fits(row: Listed, { search, key, operation, status, after }: Filter): boolean {
  if (row.n <= Number(after)) return false
  if (key !== '' && (row.key ?? NO_KEY) !== key) return false
  if (operation !== '' && (row.operation ?? 'none') !== operation) return false
  if (search !== '' && !textOf(row).includes(search.toLowerCase())) return false
  if (status === 'banned') return row.code === 'api_key_banned'
  if (status === 'lost') return row.lost || row.status === null
  return String(row.status ?? '').startsWith(status)
}

export function targetOf({ path, query }: Listed): string {
  return query === '' ? path : `${path}?${query}`
}

function textOf(row: Listed): string {
  const { method, key, code, message, hints } = row
  return [`${method} ${targetOf(row)}`, key, code, message, ...hints].join('\n').toLowerCase()
}

/** Requests that follow each other and are equal but for their time. */
export interface Group {
  /** The newest. */
  readonly row: Listed
  /** Newest first. */
  readonly numbers: readonly number[]
}

/** @param rows newest first */
export function grouped(rows: readonly Listed[], isFolded: boolean): readonly Group[] {
  const groups: { row: Listed; numbers: number[] }[] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (isFolded && last && identityOf(last.row) === identityOf(row)) last.numbers.push(row.n)
    else groups.push({ row, numbers: [row.n] })
  }
  return groups
}

function identityOf(row: Listed): string {
  const { status, code, key, lost, replayed, message, hints } = row
  return JSON.stringify([
    row.method,
    targetOf(row),
    status,
    code,
    key,
    lost,
    replayed,
    message,
    hints,
  ])
}
