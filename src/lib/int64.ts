/** An exact 64-bit integer: a number if safe, otherwise a bigint. */
export type Int64 = number | bigint

export const INT64_RANGE = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n } as const

export function isInt64(value: unknown): value is Int64 {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return Number.isSafeInteger(value)
}

/** Normalizes an int64, so that equal values are the same under `===`; -0 becomes 0. */
export function shortestForm(value: Int64): Int64 {
  if (typeof value === 'number') return value === 0 ? 0 : value
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** True for JSON that `JSON.parse` may round. A false positive costs time, never exactness. */
export function mayRound(json: string): boolean {
  return /\d[\d.]{15}|\d[eE]/.test(json)
}

/**
 * Reads the exact value of a JSON number, in shortest form, also when written `1.0` or `9.2e18`. NaN
 * for a fraction that would round to an integer, infinite for an integer too long for an int64.
 */
export function readNumber(text: string): Int64 {
  const [mantissa = '', exponent = '0'] = text.replace(/^-/, '').split(/[eE]/)
  const [whole = '', fraction = ''] = mantissa.split('.')
  // Each run of zeros is tried once, which keeps long numbers linear.
  const digits = `${whole}${fraction}`.replace(/(?<!0)0+$/, '')
  const significant = digits.replace(/^0+/, '')
  if (significant === '') return 0

  const near = Number(text)
  const zeros = Number(exponent) + whole.length - digits.length
  if (zeros < 0) return Number.isInteger(near) ? Number.NaN : near
  if (significant.length + zeros > 19) return near < 0 ? -Infinity : Infinity
  const exact = BigInt(significant + '0'.repeat(zeros))
  return shortestForm(near < 0 ? -exact : exact)
}

/** True for an integer beyond 2^53 that prints like a floating-point number: probably rounded. */
export function looksRounded(value: bigint): boolean {
  const near = Number(value)
  return !Number.isSafeInteger(near) && String(near) === String(value)
}

/** Reads decimal digits as `String` writes an int64; undefined for anything else. */
export function readInt64(digits: string): Int64 | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(digits)) return undefined
  if (digits.length < 16) return Number(digits)
  const exact = BigInt(digits)
  return isInt64(exact) ? shortestForm(exact) : undefined
}
