import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after } from 'node:test'
import {
  type SqliteRateLimitStore,
  sqliteRateLimitStore,
} from '../../../adapters/stores/sqlite/index.js'
import type { Limits } from '../../../src/limits/plans.js'
import { consumerOf, rateLimitSuite } from '../../limits/rate-limit-suite.js'
import { T0 } from '../../limits/rate-limit-vectors.js'
import { testUnless } from '../../support/test-unless.js'
import { temporaryFolders } from '../json-file/json-files.js'
import { withoutSqlite as skip } from './availability.js'

const SMALL: Limits = { perMinute: 2, perDay: 3, banAfterRejections: 1 }
const test = testUnless(skip)
const folder = temporaryFolders()
const opened: SqliteRateLimitStore[] = []
after(async () => {
  for (const limits of opened) await limits.close()
})

if (skip) test('sqlite limits - the vectors', () => {})
else {
  rateLimitSuite('sqlite', async () => {
    const limits = sqliteRateLimitStore(newPath())
    return { ...consumerOf(limits), close: limits.close }
  })
}

test('sqlite limits - counts and bans survive a restart', async () => {
  const path = newPath()
  const first = await open(path)
  for (let n = 0; n < 4; n++) await first.consume('banned', SMALL, T0)
  await first.consume('\ud800 "k"', SMALL, T0)
  const before = await first.dump()
  await first.close()
  const again = await open(path)
  assert.deepEqual(await again.dump(), before)
  assert.equal((await again.consume('banned', SMALL, T0 + 1)).code, 'api_key_banned')
  assert.equal((await again.inspect('\ud800 "k"'))?.minuteCount, 1)
  assert.equal(await again.inspect('unknown'), undefined)
  await again.reset('banned')
  assert.equal((await again.consume('banned', SMALL, T0 + 1)).code, undefined)
})

test('sqlite limits - callers without a key are counted in memory', async () => {
  const path = newPath()
  const limits = await open(path)
  await limits.consume('addr:127.0.0.1', SMALL, T0)
  assert.equal((await limits.inspect('addr:127.0.0.1'))?.minuteCount, 1)
  assert.equal((await limits.dump()).length, 1)
  await limits.close()
  assert.deepEqual(await (await open(path)).dump(), [])
})

test('sqlite limits - a clock that is not finite is refused', async () => {
  const limits = await open()
  assert.throws(() => limits.consume('k', SMALL, Number.NaN), RangeError)
  assert.deepEqual(await limits.dump(), [])
})

async function open(path = newPath()): Promise<SqliteRateLimitStore> {
  const limits = sqliteRateLimitStore(path)
  await limits.ready()
  opened.push(limits)
  return limits
}

function newPath(): string {
  return join(folder(), 'limits.sqlite')
}
