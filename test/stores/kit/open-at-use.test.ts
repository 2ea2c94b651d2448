import assert from 'node:assert/strict'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { redisRateLimitStore } from '../../../adapters/redis/index.js'
import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { openAtUse } from '../../../adapters/stores/kit/open-at-use.js'
import { postgresStorage } from '../../../adapters/stores/postgres/index.js'
import { sqliteRateLimitStore, sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import { gate } from '../../support/waiting.js'
import { temporaryFolders } from '../json-file/json-files.js'
import { withoutSqlite } from '../sqlite/availability.js'

const folder = temporaryFolders()
const missing = () => join(folder(), 'later', 'pets')

/** Each with the first call that somebody would make. */
const FILES = {
  json: { make: jsonFileStorage, skip: false },
  sqlite: { make: sqliteStorage, skip: withoutSqlite },
  'sqlite limits': { make: sqliteRateLimitStore, skip: withoutSqlite },
}

for (const [name, { make, skip }] of Object.entries(FILES)) {
  test(`open at use - ${name}: nothing is opened before a call, and after a failure the next one tries again`, {
    skip,
  }, async () => {
    const path = missing()
    const made = make(path)
    await assert.rejects(made.dump(), /later does not exist; create that folder first/)
    await assert.rejects(made.ready(), /later does not exist/)
    fs.mkdirSync(dirname(path))
    const never = make(path)
    await never.close()
    assert.deepEqual(fs.readdirSync(dirname(path)), [])
    await assert.rejects(never.dump(), { message: `${path} is closed` })
    await Promise.all([made.ready(), made.dump(), made.ready()])
    assert.ok(fs.existsSync(path))
    await made.close()
  })

  test(`open at use - ${name}: a path that is missing is an OptionError at once`, () => {
    for (const path of [undefined, '']) {
      assert.throws(() => make(path as never), { name: 'OptionError', option: 'path' })
    }
  })
}

test('open at use - a database and a Redis are connected to by a call only', async () => {
  const nowhere = '127.0.0.1:1'
  for (const made of [
    postgresStorage({ url: `postgres://${nowhere}/pets` }),
    redisRateLimitStore({ url: `redis://${nowhere}` }),
  ]) {
    await assert.rejects(made.ready(), /nothing listens there/)
    await assert.rejects(made.ready(), /nothing listens there|not connected/)
    await made.close()
    await assert.rejects(made.dump(), /closed/)
  }
})

test('open at use - calls that come while it opens share one opening, in their order', async () => {
  const { opening, log, open } = lock()
  const { use } = opening
  const answers = Promise.all([1, 2, 3].map(n => use(({ say }) => say(n))))
  open()
  assert.deepEqual(await answers, [1, 2, 3])
  assert.equal(
    use(({ say }) => say(4)),
    4,
  )
  assert.deepEqual(log, ['open', 1, 2, 3, 4])
})

test('open at use - close waits for an opening and the calls before it, and refuses those after it', async () => {
  const { opening, log, open } = lock()
  const { say } = opening.methods('say')
  const before = say(1)
  const closing = opening.close()
  await assert.rejects(async () => say(2), { message: 'closed' })
  open()
  await closing
  assert.equal(await before, 1)
  await opening.close()
  assert.deepEqual(log, ['open', 1, 'close'])
})

test('open at use - close after an opening that fails resolves', async () => {
  const opening = openAtUse<{ close(): Promise<void> }>(
    () => Promise.reject(new Error('no')),
    () => new Error('closed'),
  )
  const first = assert.rejects(opening.ready(), { message: 'no' })
  await Promise.all([opening.close(), first])
})

/** Opens when the test says so. */
function lock() {
  const log: unknown[] = []
  const { passed, open } = gate()
  const opening = openAtUse(
    async () => {
      log.push('open')
      await passed
      return {
        say(n: number) {
          log.push(n)
          return n
        },
        close: async () => void log.push('close'),
      }
    },
    () => new Error('closed'),
  )
  return { opening, log, open }
}
