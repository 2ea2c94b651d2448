import { listen } from '../../../dist/adapters/http/index.js'
import { memoryStorage } from '../../../dist/adapters/stores/memory.js'
import { createStore } from '../../../dist/src/index.js'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'

/** The package as anyone uses it: limits, validation and authentication are on. */
export async function createOurs(options = {}) {
  const storage = memoryStorage()
  await storage.restore({ pets: animals(1_000), nextId: 1_001 })
  const apiKeys = { [API_KEY]: { id: 'bench', plan: 'enterprise', limits: LIMITS } }
  return createStore({ storage, apiKeys, ...options })
}

export async function serve() {
  const { port } = await listen(await createOurs(), { port: 0 })
  return port
}
