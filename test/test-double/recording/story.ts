import { createTestDouble } from '../../../adapters/test-double/index.js'

// `node story.js`: prints the recording of a run that meets every rule of the store. Requests are
// numbered in the comments; each has two steps, one as it arrives and one as its response leaves.
const double = createTestDouble({
  clock: '2030-01-01T00:00:30Z',
  apiKeys: {
    'demo-pro': { id: 'pro', plan: 'pro' },
    'demo-enterprise': {
      id: 'ci',
      plan: 'enterprise',
      limits: { perMinute: 3, perDay: 20, banAfter: 2 },
    },
  },
})
const recording = await double.record()
await create('{"name":"Ada","categoryId":9223372036854775807}') // 1
await create('{"name":"Bo","categoryId":2,"status":"sold"}') // 2
await get('pets') // 3
await get('pets?status=sold') // 4
await get('pets/1') // 5
await get('pets/9') // 6
// The third is the last within the limit, the sixth is banned.
for (let n = 7; n <= 12; n++) await get('pets', 'demo-enterprise')
double.clock.advance('61s')
await get('pets', 'demo-enterprise') // 13
double.reset()
await get('pets', 'demo-enterprise') // 14
double.faults.arm({ kind: 'status', status: 503, when: 'after' })
await create('{"name":"Cy","categoryId":3}') // 15
await get('pets') // 16
process.stdout.write(await recording.json())

async function get(path: string, key = 'demo-pro'): Promise<void> {
  await double.fetch(path, { headers: { authorization: `Bearer ${key}` } })
}

async function create(body: string): Promise<void> {
  const headers = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
  await double.fetch('pets', { method: 'POST', headers, body })
}
