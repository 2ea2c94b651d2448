import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble, type Report } from '../../adapters/test-double/index.js'
import { CREATE, doorsOf, FREE, JSON_TYPE, list, notesOf } from '../test-double/requests.js'

const DOWN = { kind: 'status', status: 503 } as const

test('fault.unused - a fault that never fired is a note, until it fires', async () => {
  const double = createTestDouble()
  assert.deepEqual(double.report().notes, [])
  double.clock.advance('5s')
  double.faults.arm({ ...DOWN, operation: 'createPet', when: 'after', times: 2 })
  await list(double)
  const [note] = double.report().notes
  assert.deepEqual(
    [note?.rule, note?.keyId, note?.iso, note?.requests, note?.seen],
    [
      'fault.unused',
      null,
      '2030-01-01T00:00:05.000Z',
      [],
      'a fault was armed and never fired: status:503-after{"retryAfter":null,"operation":"createPet","times":2}',
    ],
  )
  assert.equal(double.report().ok, true)
  assert.throws(() => double.assertPolite({ notes: true }), { name: 'VerdictError' })
  await double.fetch('pets', CREATE)
  assert.deepEqual(double.report().notes, [])
  double.assertPolite({ notes: true })
})

test('fault.unused - a fault that was cleared, or used up by a 401, has not fired either', async () => {
  const double = createTestDouble({ allow: ['key.refused'] })
  double.faults.arm({ kind: 'hang', keyId: 'demo-pro' })
  double.faults.clear()
  double.faults.arm(DOWN)
  assert.equal((await double.fetch('pets')).status, 401)
  assert.deepEqual(double.faults.list(), [])
  assert.deepEqual(
    double.report().notes.map(({ keyId, seen }) => [keyId, seen]),
    [
      ['demo-pro', 'a fault was armed and never fired: hang{"keyId":"demo-pro"}'],
      [null, 'a fault was armed and never fired: status:503{"retryAfter":null}'],
    ],
  )
})

test('fault.unused - a fault of the body has not fired where there is none, in process and over a socket', async () => {
  await using double = createTestDouble()
  for (const send of await doorsOf(double)) {
    for (const fault of [
      { kind: 'truncate' },
      { kind: 'malformed' },
      { kind: 'trickle', bytes: 1, interval: 1 },
    ] as const) {
      double.faults.arm(fault)
      const answer = await send('/pets', { method: 'HEAD', headers: FREE })
      assert.deepEqual([answer.status, await answer.text()], [200, ''], fault.kind)
      assert.equal(double.requests().at(-1)?.fault, null)
    }
  }
  const [note] = double.report().notes
  assert.equal(note?.seen.match(/a fault was armed and never fired/g)?.length, 3)
})

test('fault.unused - the report since the start also has faults of earlier resets and of worlds', async () => {
  await using double = createTestDouble({ control: true })
  const { control } = await double.listen()
  double.faults.arm({ ...DOWN, nth: 2 })
  await list(double)
  double.reset()
  double.faults.arm(DOWN)
  await list(double)
  const { id, controlUrl } = await post(`${control}/worlds`)
  await post(`${controlUrl}/faults`, { kind: 'reset', requestHeaders: { 'X-Test': 'abc' } })
  assert.deepEqual(double.report().notes, [])
  const unused = (report: Report) => report.notes.map(({ where, seen }) => [where, seen])
  const expected = [
    [
      null,
      'a fault was armed and never fired: status:503{"retryAfter":null,"nth":2}; a fault was armed and never fired: reset{"requestHeaders":{"X-Test":"abc"}}',
    ],
  ]
  assert.deepEqual(unused(double.report({ since: 'start' })), expected)
  await fetch(`${control}/worlds/${id}`, { method: 'DELETE', headers: JSON_TYPE })
  assert.deepEqual(unused(double.report({ since: 'start' })), expected)
})

test('fault.unused - a fault of the options need fire only once, in any world or after any reset', async () => {
  await using double = createTestDouble({ control: true, faults: [DOWN, { kind: 'hang', nth: 9 }] })
  const { control } = await double.listen()
  const notes = () => notesOf(double, 'start')
  const hang = 'a fault was armed and never fired: hang{"nth":9}'
  const down = 'a fault was armed and never fired: status:503{"retryAfter":null}'
  assert.deepEqual(notes(), [`${down}; ${hang}`])
  const world = await post(`${control}/worlds`)
  double.reset()
  assert.deepEqual(notes(), [`${down}; ${hang}`])
  const authorization = `Bearer ${world.apiKeys.free}`
  const response = await fetch(`${world.baseUrl}/pets`, { headers: { authorization } })
  assert.equal(response.status, 503)
  assert.deepEqual(notes(), [hang])
  double.reset()
  assert.deepEqual(notes(), [hang])
  await fetch(`${control}/worlds/${world.id}`, { method: 'DELETE', headers: JSON_TYPE })
  assert.deepEqual(notes(), [hang])
  assert.deepEqual(notesOf(double), [`${down}; ${hang}`])
})

test('fault.unused - a fault in a snapshot may fire after any restore of it', async () => {
  const double = createTestDouble()
  double.faults.arm(DOWN)
  const snapshot = await double.snapshot()
  await double.restore(snapshot)
  assert.equal(double.report().notes.length, 1)
  assert.equal((await list(double)).status, 503)
  assert.deepEqual(double.report().notes, [])
  await double.restore(snapshot)
  assert.deepEqual(double.report({ since: 'start' }).notes, [])
})

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
async function post(url: string, body: object = {}): Promise<any> {
  const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) }
  return (await fetch(url, init)).json()
}
