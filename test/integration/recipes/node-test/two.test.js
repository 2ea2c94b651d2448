import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorld } from './world.js'

test('sees only its own world', async () => {
  const world = await createWorld({ pets: [{ name: 'two', categoryId: 1 }] })
  const headers = { authorization: `Bearer ${world.apiKeys.free}` }
  for (let count = 0; count < 59; count++) {
    const response = await fetch(`${world.baseUrl}/pets`, { headers })
    assert.deepEqual(
      (await response.json()).map(({ name }) => name),
      ['two'],
    )
  }
})
