import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  createTestDouble,
  type RuleId,
  type TestDouble,
} from '../../../adapters/test-double/index.js'
import { judge } from '../../../adapters/verdict/judge/index.js'
import { type Api, createApi } from '../../test-double/clients/api.js'
import { rules, STYLES, said } from './styles.js'

/** These differ only in their connections, which a `fetch` does not show. */
const BY_CONNECTION: Readonly<Record<string, readonly RuleId[]>> = {
  'sends one other request after each of six rejections': [],
  'is two scripts that never meet, of which one comes again at its next minute': [
    'retry-after.early',
  ],
  'is two processes on connections of their own, of which one has to wait': ['retry-after.early'],
  'takes turns on four connections, and drains its queue of equal calls': ['retry-after.early'],
}

for (const { behaviour, client, finds } of STYLES) {
  test(`judge - in front of the double, the same verdict on a client that ${behaviour}`, async () => {
    const double = createTestDouble()
    const { baseUrl, clock } = double
    const { fetch, report } = judge({ fetch: double.fetch, baseUrl, clock: () => clock() })
    await client(callsOnly(double, patient(double, fetch)))
    assert.deepEqual(said(report()), said(double.report()))
    assert.deepEqual(rules(report().findings), BY_CONNECTION[behaviour] ?? finds)
  })
}

test('judge - the styles that differ by their connections exist', () => {
  const known = STYLES.map(({ behaviour }) => behaviour)
  assert.deepEqual(
    Object.keys(BY_CONNECTION).filter(behaviour => !known.includes(behaviour)),
    [],
  )
})

/** A client that sends everything by `fetch`. */
function callsOnly(double: TestDouble, fetch: typeof globalThis.fetch): Api {
  const send: typeof fetch = (input, init) => fetch(new URL(`${input}`, `${double.baseUrl}/`), init)
  const api = createApi(Object.assign(Object.create(double), { fetch: send }))
  return { ...api, double, connection: () => api.send, pool: () => api.send }
}

/** Gives up on requests that hang, as a client with a time limit does. */
function patient(double: TestDouble, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    if (!double.faults.list().some(({ kind }) => kind === 'hang')) return fetch(input, init)
    const patience = new AbortController()
    const before = double.requests().length
    const answer = fetch(input, { ...init, signal: patience.signal })
    while (double.requests().length === before) await nextTurn()
    patience.abort()
    return answer
  }
}
