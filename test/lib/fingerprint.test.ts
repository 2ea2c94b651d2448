import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint } from '../../src/lib/fingerprint.js'

test('fingerprint - is 12 characters, the same in every process', () => {
  assert.equal(fingerprint(''), 'hwtwpu000000')
  assert.equal(fingerprint('1 available Rex'), fingerprint(['1', 'available', 'Rex'].join(' ')))
  assert.match(fingerprint('x'.repeat(1_000_000)), /^[0-9a-z]{12}$/)
})

test('fingerprint - differs for similar texts, in each of its halves', () => {
  const texts = new Set<string>()
  for (let number = 0; number < 100_000; number++) texts.add(`${number} available Rex`)
  for (let units = 0; units < 2_000; units++) texts.add('\0'.repeat(units)).add('ab'.repeat(units))
  for (let unit = 0; unit < 0x10000; unit++) texts.add(String.fromCharCode(unit))
  const prints = [...texts].map(fingerprint)
  assert.equal(new Set(prints).size, texts.size)
  // Of this many texts, about seven pairs share 31 random bits.
  for (const half of [
    prints.map(print => print.slice(0, 6)),
    prints.map(print => print.slice(6)),
  ]) {
    assert.ok(new Set(half).size > texts.size - 40, `${texts.size - new Set(half).size} collide`)
  }
})
