import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'

let warm: Promise<void> | undefined

/** Has everything loaded that is loaded on first use: that takes real time, and no event may. */
export function warmUp(): Promise<void> {
  warm ??= load()
  return warm
}

async function load(): Promise<void> {
  await import('../../adapters/stores/json-file/parse-document.js')
  const store = createStore({ storage: memoryStorage(), apiKeys: { a: { id: 'a', plan: 'free' } } })
  const headers = { authorization: 'Bearer a', 'content-type': 'application/json' }
  const body = '{"name":"Rex","categoryId":9007199254740993}'
  await store.handle({ method: 'POST', path: '/v1/pets', query: '', headers, body })
}
