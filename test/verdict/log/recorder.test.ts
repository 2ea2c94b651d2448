import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecorder } from '../../../adapters/verdict/log/recorder.js'

const CALL = { operation: 'listPets', keyId: 'ci' } as const
const RESPONSE = { status: 200, headers: { 'X-Note': 'old-key-1234' }, body: '[]' }

function open({ capacity = 10, onOverflow = () => {} } = {}) {
  const keys = { current: ['old-key-1234'] as readonly string[] }
  const recorder = createRecorder({
    capacity,
    characters: 100_000,
    clock: () => 0,
    keys: () => keys.current,
    pagination: false,
    origin: 'http://adoption-store.test',
    onOverflow,
  })
  const request = (query = '') => ({ method: 'GET', path: '/v1/pets', query, headers: {} })
  return { recorder, keys, request }
}

test('recorder - redacts the keys that were valid when the request came', () => {
  const { recorder, keys, request } = open()
  const { end } = recorder.begin(request('limit=old-key-1234'), CALL)
  keys.current = ['new-key-1234']
  end(RESPONSE)
  recorder.begin(request('limit=new-key-1234&status=old-key-1234'), CALL).end(RESPONSE)
  const [first, second] = recorder.list()
  assert.deepEqual(
    [first?.url, first?.headers],
    ['/v1/pets?limit=REDACTED', { 'X-Note': 'REDACTED' }],
  )
  assert.equal(second?.url, '/v1/pets?limit=REDACTED&status=old-key-1234')
})

test('recorder - what a caller goes on to change is not what was recorded', () => {
  const { recorder, request } = open()
  const headers: Record<string, string> = { 'x-a': '1' }
  const body = new TextEncoder().encode('{"name":"Ada"}')
  recorder.begin({ ...request(), headers, body }, CALL).end(RESPONSE)
  headers['x-a'] = '2'
  body.fill(0)
  const [exchange] = recorder.list()
  assert.deepEqual(
    [exchange?.requestHeaders['x-a'], exchange?.requestBody],
    ['1', '{"name":"Ada"}'],
  )
})

test('recorder - each exchange is taken once, in the order of the answers', () => {
  const { recorder, request } = open()
  const [one, two, three] = ['limit=1', 'limit=2', 'limit=3'].map(query =>
    recorder.begin(request(query), CALL),
  )
  three?.end(RESPONSE)
  one?.end(RESPONSE)
  const taken = () => {
    const { arrived, ended } = recorder.take()
    return [arrived, ended.map(({ n }) => n)]
  }
  assert.deepEqual(taken(), [3, [3, 1]])
  two?.end(RESPONSE)
  assert.deepEqual(
    [taken(), taken()],
    [
      [0, [2]],
      [0, []],
    ],
  )
})

test('recorder - says when it drops what was not taken, and not before', () => {
  let overflows = 0
  const { recorder, request } = open({ capacity: 2, onOverflow: () => overflows++ })
  const send = () => recorder.begin(request(), CALL).end(RESPONSE)
  for (let n = 0; n < 2; n++) send()
  const late = recorder.begin(request(), CALL)
  assert.equal(overflows, 0)
  send()
  assert.equal(overflows, 1)
  recorder.take()
  for (let n = 0; n < 2; n++) send()
  assert.equal(overflows, 1)
  recorder.take()
  late.end(RESPONSE)
  assert.equal(overflows, 2)
})
