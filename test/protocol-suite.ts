import { test } from 'node:test'
import { memoryStorage } from '../adapters/memory.js'
import type { ApiHandler } from '../src/api.js'
import { createStore } from '../src/index.js'
import type { Door, Reply, Send } from './doors.js'
import type { Check } from './protocol-check.js'
import { headerChecks } from './protocol-headers.js'
import { operationChecks } from './protocol-operations.js'
import { requestChecks } from './protocol-requests.js'
import { T0 } from './rate-limit-vectors.js'

/** Every behaviour that a client can see. */
export const CHECKS: readonly Check[] = [...operationChecks, ...requestChecks, ...headerChecks]

/**
 * Runs every check through a door.
 *
 * @param watch sees every answer, with the call it belongs to
 */
export function protocolSuite(
  name: string,
  open: (handler: ApiHandler) => Promise<Door>,
  watch: (call: Parameters<Send>[0], reply: Reply) => void = () => {},
): void {
  for (const { id, behaviour, options, run } of CHECKS) {
    test(`${name} ${id} - ${behaviour}`, async () => {
      let now = T0
      const store = createStore({
        storage: memoryStorage(),
        apiKeys: {
          demo: { id: 'demo', plan: 'business' },
          tiny: { id: 'tiny', plan: 'enterprise', limits: { perMinute: 1, perDay: 10 } },
        },
        clock: () => now,
        ...options?.(),
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
