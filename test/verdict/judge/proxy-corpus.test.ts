import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import { rules, STYLES } from './styles.js'
import { apiOver, proxyTo } from './through-proxy.js'

/** Calls of `fetch` come from one process; over sockets, two clients may have done the same. */
const ONE_PROCESS = [
  'retries a 503 at once, succeeds, and goes on for an hour',
  'waits half as long as Retry-After says, each time',
]

for (const { behaviour, client, finds } of STYLES) {
  test(`verdict - over sockets, and through the proxy: that of the corpus on a client that ${behaviour}`, async t => {
    // However long the requests take on a busy machine.
    t.mock.method(performance, 'now', () => 0)
    await using double = createTestDouble()
    const { url } = await double.listen()
    await using proxy = await proxyTo({ baseUrl: url, clock: () => double.clock() })
    await using direct = createTestDouble()
    for (const [address, own] of [
      [proxy.url, double],
      [(await direct.listen()).url, direct],
    ] as const) {
      const api = apiOver(address, own)
      await client(api)
      api.close()
    }
    for (const { findings } of [proxy.report(), direct.report()]) {
      assert.deepEqual(rules(findings), ONE_PROCESS.includes(behaviour) ? [] : finds)
    }
    assert.deepEqual(rules(proxy.report().notes), rules(direct.report().notes))
  })
}
