/** An exact 64-bit integer: a number whenever that is safe, a bigint beyond. */
export type Int64 = number | bigint

/** The range of an int64, for messages and schemas. */
export const INT64_RANGE = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n } as const

export function isInt64(value: unknown): value is Int64 {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return Number.isSafeInteger(value)
}

/** The one form of an int64: equal values are the same under `===`, and there is no -0. */
export function shortestForm(value: Int64): Int64 {
  if (typeof value === 'number') return value === 0 ? 0 : value
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/**
 * Whether a JSON text may hold a number that `JSON.parse` rounds: one of sixteen characters, or
 * with an exponent. A match inside a string costs time, never exactness.
 */
export function mayRound(json: string): boolean {
  return /\d[\d.]{15}|\d[eE]/.test(json)
}

/**
 * The exact value of a JSON number. Integers are in their shortest form, also when written `1.0` or
 * `9.2e18`. Fractions are numbers; a fraction that would round to an integer is NaN, and an integer
 * too long for an int64 is infinite.
 */
export function readNumber(text: string): Int64 {
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
  const exact = BigInt(digits.slice(start, end) + '0'.repeat(zeros))
  return shortestForm(text[0] === '-' ? -exact : exact)
}

/** Reads plain decimal digits, as `String` writes an int64; undefined for anything else. */
export function readInt64(digits: string): Int64 | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(digits)) return undefined
  if (digits.length < 16) return Number(digits)
  const exact = BigInt(digits)
  return isInt64(exact) ? shortestForm(exact) : undefined
}
