import { test as base, expect } from '@playwright/test'

/** One world for each test. */
const test = base.extend({
  control: ['', { option: true }],
  async world({ request, control }, use) {
    const headers = { 'content-type': 'application/json' }
    const world = await (await request.post(`${control}/worlds`, { headers })).json()
    await use(world)
    await request.delete(`${control}/worlds/${world.id}`, { headers })
  },
})

for (const name of ['Ada', 'Bo', 'Cleo']) {
  test(`creates ${name}`, async ({ request, world }) => {
    const headers = { authorization: `Bearer ${world.apiKeys.free}` }
    const data = { name, categoryId: 1 }
    expect((await request.post(`${world.baseUrl}/pets`, { headers, data })).status()).toBe(201)
    const pets = await (await request.get(`${world.baseUrl}/pets`, { headers })).json()
    expect(pets.map(pet => pet.name)).toEqual([name])
  })
}
