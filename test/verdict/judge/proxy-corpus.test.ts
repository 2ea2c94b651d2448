import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import { createApi } from '../../test-double/clients/api.js'
import { rules, STYLES } from './styles.js'
import { apiOver, proxyTo } from './through-proxy.js'

/** Calls of `fetch` come from one process; over sockets, two clients may have done the same. */
const ONE_PROCESS = 'retries a 503 at once, succeeds, and goes on for an hour'

for (const { behaviour, client, finds } of STYLES) {
  test(`proxy - in front of the double, the verdict of the corpus on a client that ${behaviour}`, async () => {
    await using double = createTestDouble()
    const { url } = await double.listen()
    await using proxy = await proxyTo({ baseUrl: url, clock: () => double.clock.now() })
    const api = apiOver(proxy.url, double)
    await client(api)
    api.close()
    const direct = createTestDouble()
    await client(createApi(direct))
    assert.deepEqual(rules(proxy.report().findings), behaviour === ONE_PROCESS ? [] : finds)
    const { findings, notes } = direct.report()
    assert.deepEqual(
      rules(proxy.report().notes),
      rules(behaviour === ONE_PROCESS ? findings : notes),
    )
  })
}
