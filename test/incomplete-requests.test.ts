import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withConsole } from '../adapters/console/index.js'
import { memoryStorage } from '../adapters/memory.js'
import { withDocs } from '../adapters/openapi/docs.js'
import { createTestDouble } from '../adapters/test-double/index.js'
import { createStore } from '../src/index.js'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })
const HANDLERS = {
  store,
  console: withConsole(store),
  docs: withDocs(store),
  double: createTestDouble().handler,
  control: createTestDouble({ control: true }).handler,
}

test('handlers - answer 400 to what is no request, which only a program without types can pass', async () => {
  const query = ''
  for (const [name, handler] of Object.entries(HANDLERS)) {
    for (const request of [
      undefined,
      null,
      'GET /v1/pets',
      {},
      { path: 1 },
      { path: '/_console/info' },
      { method: 'GET', path: '/', query },
      { method: 'GET', path: '/_control/clock', query, headers: null },
      { method: 'GET', query, headers: {} },
    ]) {
      const answer = await handler.handle(request as never)
      assert.equal(answer.status, 400, `${name}: ${JSON.stringify(request)}`)
      assert.deepEqual(JSON.parse(answer.body), {
        code: 'invalid_request',
        message: 'A request needs `method`, `path`, `query` and `headers`.',
        status: 400,
      })
    }
  }
})
