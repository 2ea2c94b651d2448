import { type Awaitable, chain } from './awaitable.js'
import { lazy } from './lazy.js'
import type { Pet } from './model.js'

const losslessJson = lazy(() => import('lossless-json'))

/**
 * Sixteen digits or an exponent: only then can `JSON.parse` round. A match inside a string costs
 * time, not truth.
 */
const MAY_ROUND = /\d[\d.]{15}|\d[eE]/

/**
 * `JSON.parse` that rounds no integer: a safe integer is a number, one beyond is a bigint, and so
 * are the integers written `1.0` or `9.2e18`. The last of two equal names wins.
 *
 * @throws SyntaxError when the text is not JSON, or nests too deep for a number it holds to be read exactly
 */
export async function parseJson(text: string): Promise<unknown> {
  return parseJsonAtOnce(text)
}

/** The same, with a promise only where the parser that reads every digit is not loaded yet. */
export function parseJsonAtOnce(text: string): Awaitable<unknown> {
  const value: unknown = JSON.parse(text)
  if (!MAY_ROUND.test(text)) return value
  return chain(losslessJson(), ({ parse }) => {
    try {
      return parse(text, undefined, {
        parseNumber: exactNumber,
        onDuplicateKey: ({ newValue }) => newValue,
      })
    } catch (cause) {
      throw new SyntaxError('The text nests too deep', { cause })
    }
  })
}

/**
 * `JSON.stringify` that writes a bigint as its digits. For plain data: objects, arrays, strings,
 * numbers.
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(item => toJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${toJson(field)}`).join(',')}}`
}

/** Whether JSON escapes none of it and UTF-8 has a byte for each character, as in most names. */
export function isPlain(text: string): boolean {
  return /^[ !#-[\]-~]*$/.test(text)
}

/** `toJson` of a pet, with the fields in the order of the specification. */
export function petToJson({ id, name, categoryId, status }: Pet): string {
  const quoted = isPlain(name) ? `"${name}"` : JSON.stringify(name)
  const start = `{"id":${id},"name":${quoted},"categoryId":${categoryId}`
  return status === undefined ? `${start}}` : `${start},"status":"${status}"}`
}

/**
 * The number a JSON text means. Fractions stay fractions, and what is too long for an int64 becomes
 * Infinity.
 */
function exactNumber(text: string): number | bigint {
  const near = Number(text)
  const exponentAt = text.search(/[eE]/)
  const mantissa = exponentAt < 0 ? text : text.slice(0, exponentAt)
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  if (start === digits.length) return 0
  let end = digits.length
  while (digits[end - 1] === '0') end--

  const exponent = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1))
  const zeros = exponent - fraction.length + (digits.length - end)
  if (zeros < 0) return Number.isInteger(near) ? Number.NaN : near
  if (end - start + zeros > 19) return near < 0 ? -Infinity : Infinity
  const exact = BigInt(digits.slice(start, end) + '0'.repeat(zeros)) * (text[0] === '-' ? -1n : 1n)
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
}
