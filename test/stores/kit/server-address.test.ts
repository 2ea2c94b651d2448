import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf as redisAddress } from '../../../adapters/redis/open.js'
import { addressOf } from '../../../adapters/stores/postgres/open.js'

test('server address - user, password and parameters are left out', () => {
  for (const [url, address] of [
    ['postgres://app:s3cret@db:5432/pets', 'postgres://db:5432/pets'],
    ['postgresql://app:%2Fs3%23cret@db/pets?sslmode=require', 'postgresql://db/pets'],
    ['postgres://app:s3cret@/pets?host=/cloudsql/project:region:name', 'postgres:///pets'],
    ['postgres://db', 'postgres://db'],
  ] as const) {
    assert.equal(addressOf(url), address)
  }
  assert.equal(redisAddress('valkeys://:s3cret@[::1]:6379/2'), 'valkeys://[::1]:6379/2')
})

test('server address - a password that would end early is refused, and never shown', () => {
  for (const password of ['/s3cret', '12/s3cret', 's3#cret', 's3?cret', 's3@cret', '100%s3cret']) {
    for (const read of [
      () => addressOf(`postgres://app:${password}@127.0.0.1:1/pets`),
      () => redisAddress(`redis://app:${password}@127.0.0.1:1/0`),
    ]) {
      assert.throws(read, (error: Error) => {
        assert.match(error.message, /percent-encode \/ # \? @ % in user and password$/)
        assert.doesNotMatch(error.message, /cret/)
        return true
      })
    }
  }
})
