import type { Place } from './fragment.js'
import type { Row } from './stream.js'

/** Which requests to show. Empty texts show all. */
export interface Filter {
  /** A part of the path, the query, the outcome or a body. */
  readonly search: string
  readonly key: string
  readonly operation: string
  readonly status: string
  /** Those up to this number have been cleared. */
  readonly after: string
}

export const EVERYTHING: Filter = { search: '', key: '', operation: '', status: '', after: '' }
export const NO_KEY = 'no key'

export const OPERATIONS = [
  ['', 'All operations'],
  ['listPets', 'listPets'],
  ['createPet', 'createPet'],
  ['getPet', 'getPet'],
  ['none', 'Other'],
] as const

export const STATUSES = [
  ['', 'Every status'],
  ['2', '2xx'],
  ['4', '4xx'],
  ['429', '429'],
  ['5', '5xx'],
  ['lost', 'Lost'],
] as const

export function filterOf({ parameters }: Place): Filter {
  const names = Object.keys(EVERYTHING) as (keyof Filter)[]
  return Object.fromEntries(names.map(name => [name, parameters[name] ?? ''])) as unknown as Filter
}

/** @param found the numbers of those that the server found by their bodies */
export function fits(row: Row, filter: Filter, found: ReadonlySet<number>): boolean {
  const { search, key, operation, status, after } = filter
  if (row.n <= Number(after)) return false
  if (key !== '' && (row.key ?? NO_KEY) !== key) return false
  if (operation !== '' && (row.operation ?? 'none') !== operation) return false
  if (search !== '' && !found.has(row.n) && !isIn(row, search.toLowerCase())) return false
  if (status === 'lost') return row.lost || row.status === null
  return String(row.status ?? '').startsWith(status)
}

function isIn(row: Row, text: string): boolean {
  const { method, path, query, key, code, message, hints } = row
  const target = query === '' ? path : `${path}?${query}`
  return [`${method} ${target}`, key, code, message, ...hints].some(part =>
    part?.toLowerCase().includes(text),
  )
}

/** Requests that follow each other and are equal but for their time. */
export interface Group {
  /** The newest. */
  readonly row: Row
  /** Newest first. */
  readonly numbers: readonly number[]
}

/** @param rows newest first */
export function folded(rows: readonly Row[]): readonly Group[] {
  const groups: { row: Row; numbers: number[] }[] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (last && isEqual(last.row, row)) last.numbers.push(row.n)
    else groups.push({ row, numbers: [row.n] })
  }
  return groups
}

const COMPARED = [
  'method',
  'path',
  'query',
  'status',
  'code',
  'key',
  'lost',
  'replayed',
  'shadowed',
] as const

function isEqual(one: Row, other: Row): boolean {
  return COMPARED.every(name => one[name] === other[name])
}
