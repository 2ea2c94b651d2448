import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchMemory } from './memory.js'

test('memory - a finished world that something still refers to is reported', async () => {
  const memory = watchMemory()
  const kept = {}
  const worlds = Array.from({ length: 26 }, (_, at) => new WeakRef(at === 7 ? kept : {}))
  const found = []
  for (const world of worlds) found.push(await memory.ended(world))
  assert.match(found.at(-1)?.message ?? '', /^1 finished worlds? (is|are) still in memory/)
  assert.deepEqual(found.slice(0, -1).filter(Boolean), [])
  assert.deepEqual(kept, {})
})
