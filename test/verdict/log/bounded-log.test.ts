import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLog } from '../../../adapters/verdict/log/bounded-log.js'

test('log - holds what a plain array would', () => {
  const size = fc.integer({ min: 0, max: 6 })
  const step = fc.oneof(
    fc.record({ add: size }),
    fc.record({ grow: fc.integer({ min: -3, max: 40 }), by: size }),
    fc.record({ trim: fc.nat({ max: 5 }) }),
    fc.constant({ clear: true }),
  )
  const options = fc.record({
    capacity: fc.integer({ min: 1, max: 5 }),
    characters: fc.integer({ min: 0, max: 15 }),
    least: fc.integer({ min: 0, max: 1 }),
    begin: fc.record({ last: fc.nat({ max: 9 }), dropped: fc.nat({ max: 9 }) }),
  })
  fc.assert(
    fc.property(options, fc.array(step, { maxLength: 30 }), (given, steps) => {
      const log = createLog<number>(given)
      let kept: { n: number; size: number }[] = []
      let { last, dropped } = given.begin
      for (const taken of steps) {
        if ('add' in taken) {
          log.add(++last, taken.add)
          kept.push({ n: last, size: taken.add })
        } else if ('grow' in taken) {
          log.grow(taken.grow, taken.by)
          for (const one of kept) if (one.n === taken.grow) one.size += taken.by
        } else if ('trim' in taken) {
          log.trim(taken.trim)
          while (kept.length > taken.trim) {
            kept.shift()
            dropped++
          }
        } else {
          log.clear()
          kept = []
          dropped = 0
        }
        while (kept.length > given.capacity || isTooLarge(kept, given)) {
          kept.shift()
          dropped++
        }
        const numbers = kept.map(({ n }) => n)
        assert.deepEqual(log.since(), numbers)
        assert.deepEqual(
          [log.first(), log.last(), log.dropped()],
          [last - kept.length + 1, last, dropped],
        )
        for (let n = last - 7; n <= last + 2; n++) {
          assert.equal(
            log.find(n),
            numbers.find(one => one === n),
          )
          assert.deepEqual(
            log.since(n),
            numbers.filter(one => one > n),
          )
        }
      }
    }),
  )
})

function isTooLarge(
  kept: readonly { size: number }[],
  { characters, least }: { characters: number; least: number },
): boolean {
  return kept.length > least && kept.reduce((sum, { size }) => sum + size, 0) > characters
}
