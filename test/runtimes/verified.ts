import { after, test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { verifySuite } from '../../adapters/verify/index.js'
import { createStore } from '../../src/index.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import type { Door } from '../support/doors.js'

const ORIGIN = 'http://door.test'

/** Runs the checks for any server of the API through an adapter, with time that only waits move. */
export function verifiedSuite(name: string, open: (handler: ApiHandler) => Promise<Door>): void {
  let now = T0
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { main: { id: 'main', plan: 'pro' }, spare: { id: 'spare', plan: 'free' } },
    clock: () => now,
  })
  let door: Promise<Door> | undefined
  after(async () => (await door)?.close())

  verifySuite((title, run) => test(`${name} ${title}`, run), {
    baseUrl: `${ORIGIN}${store.basePath}`,
    apiKey: 'main',
    spareApiKey: 'spare',
    exhaust: true,
    skip: ['http', 'openapi'],
    clock: () => now,
    sleep: async ms => {
      now += ms
    },
    async fetch(...given) {
      const request = new Request(...given)
      door ??= open(store)
      const { send } = await door
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { status, headers, body } = await send({
        method: request.method,
        path: request.url.slice(ORIGIN.length),
        headers: Object.fromEntries(request.headers),
        ...(bytes.length > 0 && { body: bytes }),
      })
      return new Response(body === '' ? null : body, { status, headers })
    },
  })
}
