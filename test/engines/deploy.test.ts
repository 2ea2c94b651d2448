import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'
import { ROOT_URL } from '../support/paths.js'
import { startNginx, withoutNginx } from './engines.js'

const CONFIG = readFileSync(new URL('adapters/postgres/deploy/nginx.conf', ROOT_URL), 'utf8')

test('deploy - nginx balances requests, reports the client address, and hides a process that is down', {
  skip: withoutNginx,
}, async () => {
  const answered = [0, 0]
  const servers = await Promise.all(
    [0, 1].map(at => {
      const store = createStore({ storage: memoryStorage(), apiKeys: {} })
      const handle: typeof store.handle = request => {
        answered[at] = (answered[at] ?? 0) + 1
        return store.handle(request)
      }
      return listen({ ...store, handle }, { port: 0, proxyHops: 1 })
    }),
  )
  const [one, two] = servers.map(({ port }) => `127.0.0.1:${port}`)
  const config = CONFIG.replace('store-1:4280', `${one}`).replace('store-2:4280', `${two}`)
  await using nginx = await startNginx(config)
  const remaining: number[] = []
  for (let n = 0; n < 4; n++) {
    // Clients cannot choose the address that is counted.
    const headers = { 'x-forwarded-for': `192.0.2.${n}` }
    const response = await fetch(`${nginx.url}/v1/pets`, { headers })
    assert.equal(response.status, 401)
    remaining.push(Number(response.headers.get('x-ratelimit-remaining')))
  }
  assert.deepEqual(answered, [2, 2])
  assert.deepEqual(remaining.toSorted(), [58, 58, 59, 59])

  await servers[0]?.close()
  for (let n = 0; n < 4; n++) assert.equal((await fetch(`${nginx.url}/v1/pets`)).status, 401)
  assert.deepEqual(answered, [2, 6])
  await servers[1]?.close()
})
