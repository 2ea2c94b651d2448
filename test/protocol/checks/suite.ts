import { test } from 'node:test'
import { memoryRateLimitStore, memoryStorage } from '../../../adapters/stores/memory.js'
import { createStore } from '../../../src/index.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { T0 } from '../../limits/rate-limit-vectors.js'
import type { Door, Reply, Send } from '../../support/doors.js'
import { authChecks } from './auth.js'
import { bodyChecks } from './body.js'
import type { Checks } from './check.js'
import { corsChecks } from './cors.js'
import { createChecks } from './create.js'
import { failureChecks } from './failures.js'
import { getChecks } from './get.js'
import { idempotencyChecks } from './idempotency.js'
import { limitChecks } from './limits.js'
import { listChecks } from './list.js'
import { routeChecks } from './route.js'

/** Every behaviour that clients can observe. */
export const CHECKS: Checks = {
  ...listChecks,
  ...createChecks,
  ...idempotencyChecks,
  ...getChecks,
  ...bodyChecks,
  ...authChecks,
  ...routeChecks,
  ...limitChecks,
  ...failureChecks,
  ...corsChecks,
}

/**
 * Runs every check through an adapter.
 *
 * @param watch receives every response with its request
 * @param around wraps each port of the store
 */
export function protocolSuite(
  name: string,
  open: (handler: ApiHandler) => Promise<Door>,
  watch: (call: Parameters<Send>[0], reply: Reply) => void = () => {},
  around: <Port extends object>(port: Port) => Port = port => port,
): void {
  for (const [behaviour, check] of Object.entries(CHECKS)) {
    const { options, run } = typeof check === 'function' ? { run: check } : check
    test(`${name} ${behaviour}`, async () => {
      let now = T0
      const given = options?.()
      const store = createStore({
        apiKeys: {
          demo: { id: 'demo', plan: 'business' },
          tiny: { id: 'tiny', plan: 'enterprise', limits: { perMinute: 1, perDay: 10 } },
        },
        clock: () => now,
        ...given,
        storage: around(given?.storage ?? memoryStorage()),
        rateLimitStore: around(given?.rateLimitStore ?? memoryRateLimitStore()),
      })
      const door = await open(store)
      const send: Send = async given => {
        const call = 'key' in given ? given : { ...given, key: 'demo' }
        const reply = await door.send(call)
        watch(call, reply)
        return reply
      }
      try {
        await run({ send, store, setClock: value => (now = value) })
      } finally {
        await door.close()
      }
    })
  }
}
