import assert from 'node:assert/strict'
import test from 'node:test'
import { createNotes } from '../../../adapters/cli/serve/request-log.js'
import { openEnvironment } from '../../../adapters/cli/serve/served-store.js'
import { DEMO_KEYS } from '../../../adapters/test-double/demo-keys.js'

test('serve - requests between the bind and the first animals wait for these', async () => {
  const notes = createNotes({ asJson: false, clock: Date.now, write() {} })
  const settings = {
    store: 'memory:',
    rateLimitStore: 'memory:',
    rateLimiting: true,
    delay: 0,
  } as never
  const { handler, fill } = await openEnvironment(settings, DEMO_KEYS, [], notes, undefined)
  const headers = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
  const request = { path: '/v1/pets', query: '', headers, body: '{"name":"Rex","categoryId":1}' }
  const created = handler.handle({ ...request, method: 'POST' })
  assert.deepEqual(await fill(), { animals: 41, source: 'demo data' })
  assert.equal(JSON.parse((await created).body).id, 42)
})
