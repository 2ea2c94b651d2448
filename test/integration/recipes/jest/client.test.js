const { ApiError, createClient } = require('animal-adoption-store/client')
const { createTestDouble } = require('animal-adoption-store/test-double')

test('the client and the double share their classes', async () => {
  const { baseUrl, fetch, pets } = createTestDouble()
  await pets.createPet({ name: 'Ada', categoryId: 1 })
  const client = createClient({ baseUrl, fetch, apiKey: 'demo-free' })
  expect(await client.listPets()).toHaveLength(1)
  await expect(client.createPet({ categoryId: 1 })).rejects.toThrow(ApiError)
  await client.close()
})
