import assert from 'node:assert/strict'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import { ERROR_STATUS, type ErrorCode, type PetStorage } from '../../../src/index.js'
import type { Reply } from '../../support/doors.js'
import { assertError, type Checks, demoHeaders, post, REX } from './check.js'

/** Failures of the host, and the list of all codes. */
export const failureChecks: Checks = {
  async 'errors.codes - the list is closed, and each code has one status'() {
    assert.deepEqual(ERROR_STATUS, {
      invalid_request: 400,
      unauthorized: 401,
      not_found: 404,
      method_not_allowed: 405,
      gone: 410,
      payload_too_large: 413,
      unsupported_media_type: 415,
      idempotency_key_reused: 422,
      rate_limit_exceeded: 429,
      api_key_banned: 429,
      internal_error: 500,
      storage_unavailable: 503,
    } satisfies Record<ErrorCode, number>)
  },
  'errors.body - code, message and status; the details of unknown errors are not exposed': {
    options: () => ({
      // A storage that breaks its contract: the details stay private.
      storage: {
        ...memoryStorage(),
        insert: async () => undefined,
        find: async () => ({ toString: () => '/etc/secret' }),
      } as unknown as PetStorage,
    }),
    async run({ send }) {
      const message = 'An unexpected error occurred; the request is not at fault.'
      const reply = await send(post(REX))
      const body = JSON.stringify({ code: 'internal_error', message, status: 500 })
      assert.deepEqual(reply, { status: 500, headers: demoHeaders(999, body.length), body })
    },
  },
  'storage.failure - 503, nothing visible, and the next request may succeed': {
    options: () => ({ storage: failingOnce('insert', 'find', 'list') }),
    async run({ send }) {
      const message = 'The storage is temporarily unavailable; try again later.'
      const unavailable = (reply: Reply) => {
        assertError(reply, 503, 'storage_unavailable', message)
        assert.equal(reply.headers['retry-after'], '1')
      }
      unavailable(await send(post(REX)))
      unavailable(await send({ path: '/v1/pets' }))
      assert.equal((await send({ path: '/v1/pets' })).body, '[]')
      assert.ok((await send(post(REX))).body.startsWith('{"id":1,'))
      unavailable(await send({ path: '/v1/pets/1' }))
      assert.equal((await send({ path: '/v1/pets/1' })).status, 200)
    },
  },
}

/** Every method rejects its first call and does nothing. */
function failingOnce(...methods: ('insert' | 'find' | 'list')[]): PetStorage {
  const storage = memoryStorage()
  for (const name of methods) {
    const method = storage[name]
    const restore = () => Object.assign(storage, { [name]: method })
    const fail = async () => {
      restore()
      throw new Error('disk /dev/sda1 on fire')
    }
    Object.assign(storage, { [name]: fail })
  }
  return storage
}
