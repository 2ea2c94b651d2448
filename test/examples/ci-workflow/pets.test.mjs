// Tests of a client over a real socket. They know the store by two environment variables, as tests in
// any other language would: `exec` starts it, sets them, and prints its verdict.
import assert from 'node:assert/strict'
import { test } from 'node:test'

const { ADOPTION_STORE_BASE_URL: baseUrl, ADOPTION_STORE_API_KEY: apiKey } = process.env
const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }

test('a registered animal is listed', async () => {
  const body = JSON.stringify({ name: 'Ada', categoryId: 1 })
  const created = await fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
  assert.equal(created.status, 201)
  const listed = await fetch(`${baseUrl}/pets?status=available`, { headers })
  assert.deepEqual(await listed.json(), [await created.json()])
})

test('waits as long as the server asks', async () => {
  const send = () => fetch(`${baseUrl}/pets`, { headers })
  let response = await send()
  while (response.ok) response = await send()
  assert.equal(response.status, 429)
  await skipTime(Number(response.headers.get('retry-after')))
  assert.equal((await send()).status, 200)
})

/** A test need not wait: the store lets it move the clock. */
async function skipTime(seconds) {
  await fetch(`${process.env.ADOPTION_STORE_CONTROL_URL}/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advance: `${seconds}s` }),
  })
}
