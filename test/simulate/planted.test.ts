import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../support/paths.js'

/** One of each kind that is found soon. */
const DEFECTS = [
  'the document is written in place',
  'the document forgets the next id',
  'a key counts for every customer',
  'one request more than the limit is admitted',
  'Retry-After is a second short',
  'an integer beyond 2 ** 53 is rounded',
  'the client uses a key for two creates',
  'the verdict misses who takes Reset for milliseconds',
]

test('planted - the simulation finds defects of storage, limits, client and verdict', () => {
  const given = [
    join(ROOT, 'test/simulate/planted.mjs'),
    ...DEFECTS,
    '--seeds',
    '1',
    '--steps',
    '40000',
  ]
  const { status, stdout, stderr } = spawnSync(process.execPath, given, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  assert.match(
    stdout,
    new RegExp(`^${DEFECTS.length} of ${DEFECTS.length} defects were found`, 'm'),
  )
})
