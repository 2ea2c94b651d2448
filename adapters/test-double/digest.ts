import { createHash } from 'node:crypto'
import { toJson } from '../../src/json.js'

/** SHA-256 in hex. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** The same for values that hold the same, in whatever order their fields are. */
export function digestOfValue(value: unknown): string {
  return digestOf(toJson(sorted(value)))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]))
}
