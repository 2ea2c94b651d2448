const assert = require('node:assert/strict')

const [major, minor] = process.versions.node.split('.').map(Number)
if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) {
  const { createStore } = require('animal-adoption-store')
  const { toFetchHandler } = require('animal-adoption-store/fetch')
  const { toNodeHandler, listen } = require('animal-adoption-store/http')
  const { memoryStorage } = require('animal-adoption-store/memory')
  const store = createStore({ storage: memoryStorage(), apiKeys: {} })
  for (const made of [toFetchHandler(store), toNodeHandler(store), listen]) {
    assert.equal(typeof made, 'function')
  }
}
