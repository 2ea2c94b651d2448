const { createTestDouble } = require('animal-adoption-store/test-double')

const double = createTestDouble()
const headers = { authorization: 'Bearer demo-free' }

beforeEach(() => double.reset())

test('lists the seeded animals', async () => {
  await double.seed([{ name: 'Ada', categoryId: 9007199254740993n }])
  const response = await double.fetch('pets', { headers })
  expect(await response.text()).toContain('"categoryId":9007199254740993')
})

test('snapshots, restores and listens', async () => {
  const digest = await double.digest()
  const snapshot = await double.snapshot()
  const server = await double.listen()
  expect((await fetch(`${server.url}/pets`, { headers })).status).toBe(200)
  await server.close()
  await double.restore(snapshot)
  expect(await double.digest()).toBe(digest)
})
