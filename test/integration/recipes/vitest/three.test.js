import { expect, test } from 'vitest'
import { createWorld } from './world.js'

const world = await createWorld({ pets: [{ name: 'three', categoryId: 1 }] })
const headers = { authorization: `Bearer ${world.apiKeys.free}` }

test('sees only its own world', async () => {
  for (let count = 0; count < 59; count++) {
    const response = await fetch(`${world.baseUrl}/pets`, { headers })
    expect((await response.json()).map(({ name }) => name)).toEqual(['three'])
  }
})
