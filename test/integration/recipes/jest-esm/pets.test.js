import { createTestDouble } from 'animal-adoption-store/test-double'

const double = createTestDouble()
const headers = { authorization: 'Bearer demo-free' }

beforeEach(() => double.reset())

test('lists the seeded animals', async () => {
  await double.seed([{ name: 'Ada', categoryId: 1 }])
  const response = await double.fetch('pets', { headers })
  expect(await response.json()).toEqual([
    { id: 1, name: 'Ada', categoryId: 1, status: 'available' },
  ])
})

test('waits for an exhausted minute', async () => {
  await double.run(async () => {
    for (let count = 0; count < 60; count++) await double.fetch('pets', { headers })
    const refused = await double.fetch('pets', { headers })
    expect(refused.status).toBe(429)
    await double.clock.sleep(Number(refused.headers.get('retry-after')) * 1000)
    expect((await double.fetch('pets', { headers })).status).toBe(200)
  })
  expect(double.report().findings).toEqual([])
})
