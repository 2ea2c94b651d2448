import { toJson } from '../../../src/lib/json.js'

/** The first difference of two recorded values, such as `status 503 instead of 201`. */
export function firstDifference(was: unknown, is: unknown, name = 'value'): string | undefined {
  if (!isObject(was) || !isObject(is)) {
    return was === is ? undefined : `${name} ${shown(is, was)} instead of ${shown(was, is)}`
  }
  for (const field of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const label = `${name === 'headers' ? 'header ' : ''}${field.slice(0, MOST)}`
    const found = firstDifference(was[field], is[field], label)
    if (found !== undefined) return found
  }
  return undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

const MOST = 80

function shown(value: unknown, other: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return around(value, String(other))
  if (!isObject(value)) return String(value)
  return toJson(value).slice(0, MOST)
}

/** The excerpt of a long text around its first difference, on one line. */
function around(text: string, other: string): string {
  if (text.length <= MOST) return JSON.stringify(text)
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  const from = Math.max(0, at - 20)
  const part = text.slice(from, from + MOST)
  return JSON.stringify(`${from > 0 ? '…' : ''}${part}${from + MOST < text.length ? '…' : ''}`)
}
