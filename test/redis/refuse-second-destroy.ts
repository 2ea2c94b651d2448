import type { TestContext } from 'node:test'
import { ClientClosedError, RedisClient } from '@redis/client'

/** As in versions of the client before 6.3. */
export function refuseSecondDestroy(t: TestContext): void {
  const { destroy } = RedisClient.prototype
  t.mock.method(RedisClient.prototype, 'destroy', function (this: typeof RedisClient.prototype) {
    if (!this.isOpen) throw new ClientClosedError()
    destroy.call(this)
  })
}
