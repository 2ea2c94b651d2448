import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJson, toJson } from '../../src/index.js'
import { readInt64 } from '../../src/lib/int64.js'
import { isPlain } from '../../src/lib/json.js'
import { petToJson } from '../../src/pets/pet.js'
import { anyCodePoint } from '../support/any-text.js'

const RUNS = { seed: 20_301_205, numRuns: 100 }

test('parseJson - integers are exact: a number if safe, otherwise a bigint', () => {
  for (const [text, value] of [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 9223372036854775808n],
    ['9.223372036854775807e18', 9223372036854775807n],
    ['922337203685477580700e-2', 9223372036854775807n],
    ['9007199254740993.000', 9007199254740993n],
    ['1.0', 1],
    ['1e3', 1000],
    ['1E+3', 1000],
    ['0.1e1', 1],
    ['-0.0e5', 0],
    ['0e99999999999999', 0],
    ['0.0000000001e20', 10_000_000_000],
    ['1.5', 1.5],
    ['1.5e0', 1.5],
    ['1e-1', 0.1],
  ] as const) {
    assert.ok(parseJson(text) === value, text)
    assert.deepEqual(parseJson(`[{"a":${text}}]`), [{ a: value }], text)
  }
})

test('parseJson - a fraction that rounds to an integer is not an integer', () => {
  for (const text of [
    '1.00000000000000000001',
    '9007199254740992.5',
    '9007199254740993.0000000000000000001',
    '1e-400',
    '4503599627370497.5e0',
    '0.99999999999999999999',
    `1.${'0'.repeat(500_000)}1`,
    `1e-${'9'.repeat(500_000)}`,
  ]) {
    const value = parseJson(text)
    assert.ok(!Number.isInteger(value) && typeof value !== 'bigint', text.slice(0, 40))
  }
})

test('parseJson - integers longer than any int64 are infinite, in linear time', () => {
  const many = '9'.repeat(900_000)
  for (const text of ['1e400', '1e19', '12345678901234567890', many, `1e${many}`, `${many}e5`]) {
    assert.equal(parseJson(text), Number.POSITIVE_INFINITY, text.slice(0, 40))
    assert.equal(parseJson(`-${text}`), Number.NEGATIVE_INFINITY, text.slice(0, 40))
  }
})

test('parseJson - the last duplicate name wins, and __proto__ is an ordinary name', () => {
  for (const number of ['1', '1e0']) {
    assert.deepEqual(parseJson(`{"a":2,"a":${number}}`), { a: 1 })
    const parsed = parseJson(`{"__proto__":{"a":${number}},"b":1}`) as object
    assert.equal(Object.getPrototypeOf(parsed), Object.prototype)
    assert.deepEqual(Object.keys(parsed), ['__proto__', 'b'])
  }
})

test('parseJson - agrees with JSON.parse except where that rounds', () => {
  const json = fc.oneof(
    fc.json(),
    fc.jsonValue().map(value => JSON.stringify(value, undefined, '\t ')),
    fc.string({ unit: anyCodePoint }).map(text => JSON.stringify(text)),
  )
  fc.assert(
    fc.property(json, text => {
      const expected = JSON.parse(text) as unknown
      // The exponent forces the exact parser.
      const [exact] = parseJson(`[${text},1e0]`) as [unknown]
      assert.deepEqual(approximate(exact), approximate(expected))
      assert.deepEqual(approximate(parseJson(text)), approximate(expected))
    }),
    RUNS,
  )
})

test('parseJson - counts nesting levels, not brackets in strings or siblings', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const brackets = '['.repeat(3_000)
  for (const before of ['""', '"a"', '"\\""', '"\\\\"']) {
    parseJson(`[${before},"${brackets}",${nested(999)}]`)
    assert.throws(() => parseJson(`[${before},"${brackets}",${nested(1_000)}]`), SyntaxError)
  }
  const siblings = `[${Array(2_000).fill('[{}]').join()}]`
  assert.equal((parseJson(siblings) as unknown[]).length, 2_000)
})

test('parseJson - rejects everything that JSON.parse rejects', () => {
  const almost = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.json().map(text => `${text}1e5`),
  )
  fc.assert(
    fc.property(almost, text => {
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      if (valid) parseJson(text)
      else assert.throws(() => parseJson(text), SyntaxError)
    }),
    RUNS,
  )
})

test('toJson - round-trips every int64', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(int64, fc.string({ unit: anyCodePoint }), (categoryId, name) => {
      const pet = { id: 1, name, categoryId, status: 'sold' as const }
      const read = parseJson(toJson(pet)) as { categoryId: number | bigint; name: string }
      assert.equal(BigInt(read.categoryId), categoryId)
      assert.equal(read.name, name)
      assert.equal(petToJson(pet), toJson(pet))
    }),
    RUNS,
  )
})

test('readInt64 - accepts only the String form of an int64', () => {
  for (const value of [
    0,
    -1,
    999_999_999_999_999,
    Number.MAX_SAFE_INTEGER,
    -Number.MAX_SAFE_INTEGER,
    9007199254740992n,
    9007199254740993n,
    -(2n ** 63n),
    2n ** 63n - 1n,
  ]) {
    assert.equal(readInt64(String(value)), value)
  }
  for (const text of ['', '-', '-0', '01', '1.0', '1e3', ' 1', '9223372036854775808', '1n']) {
    assert.equal(readInt64(text), undefined, text)
  }
})

test('petToJson - escapes the same characters as JSON.stringify', () => {
  const units = Array.from({ length: 0x180 }, (_, unit) => unit)
  for (const unit of [...units, 0x2028, 0xd83d, 0xdc15, 0xfeff, 0xffff]) {
    const pet = { id: 1, name: `a${String.fromCharCode(unit)}b`, categoryId: 1 }
    assert.equal(petToJson(pet), JSON.stringify(pet), `U+${unit.toString(16)}`)
    // The byte count of a plain text is its length.
    assert.equal(
      isPlain(pet.name),
      unit >= 0x20 && unit < 0x7f && !'"\\'.includes(pet.name.charAt(1)),
    )
  }
})

test('toJson - omits undefined fields, like JSON.stringify', () => {
  const value = { a: undefined, b: [undefined, null, 1n], c: { d: undefined }, e: '"' }
  assert.equal(toJson(value), '{"b":[null,null,1],"c":{},"e":"\\""}')
})

/** Replaces bigints by the nearest number; excludes integers of more than 19 digits. */
function approximate(value: unknown): unknown {
  if (typeof value === 'bigint') return approximate(Number(value))
  if (typeof value === 'number') return Math.abs(value) < 1e19 ? value + 0 : Math.sign(value) * 1e19
  if (Array.isArray(value)) return value.map(approximate)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.create(null) as Record<string, unknown>
  for (const [name, field] of Object.entries(value)) copy[name] = approximate(field)
  return copy
}
