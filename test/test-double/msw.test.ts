import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, test } from 'node:test'
import { promisify } from 'node:util'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { createTestDouble, type Fault } from '../../adapters/test-double/index.js'
import { arrived, CREATE } from './requests.js'

const DOUBLE = new URL('../../adapters/test-double/index.js', import.meta.url).href

const double = createTestDouble({ baseUrl: 'https://api.example.com/v1' })
// As in the guide.
const server = setupServer(
  http.all(`${double.baseUrl}/*`, ({ request }) =>
    double.fetch(request).catch(() => HttpResponse.error()),
  ),
)
before(() => server.listen({ onUnhandledRequest: 'error' }))
beforeEach(() => double.reset())
after(() => server.close())
after(() => double.close())

/** Results of an app with MSW, and the number of animals after it. */
const OUTCOMES: Record<string, Record<'fetch' | 'https', unknown[]>> = {
  reset: { fetch: ['TypeError: Failed to fetch', 1], https: ['TypeError: Network error', 1] },
  truncate: { fetch: [201, 'TypeError: terminated', 1], https: [201, 'Error: aborted', 1] },
  malformed: {
    fetch: [201, '{"id":1,"name":"Ada","catego', 1],
    https: [201, '{"id":1,"name":"Ada","catego', 1],
  },
  hang: { fetch: ['Error: enough', 0], https: ['AbortError: The operation was aborted', 0] },
}

for (const [kind, expected] of Object.entries(OUTCOMES)) {
  test(`msw - ${kind} is a network error for the app, not a 500 from the mock`, async () => {
    const outcomes: Record<string, unknown[]> = {}
    for (const [name, call] of Object.entries({ fetch: byFetch, https: byHttps })) {
      double.reset()
      double.faults.arm({ kind } as Fault)
      const abort = new AbortController()
      const outcome = call(abort.signal).catch(error => [`${error.name}: ${error.message}`])
      if (kind === 'hang') {
        await arrived(double)
        abort.abort(new Error('enough'))
      }
      outcomes[name] = [...(await outcome), (await double.pets.listPets()).length]
    }
    assert.deepEqual(outcomes, expected)
  })
}

test('msw - a call that hangs ends with its time limit, which keeps no process alive', async () => {
  const program = `
    import { HttpResponse, http } from 'msw'
    import { setupServer } from 'msw/node'
    import { createTestDouble } from ${JSON.stringify(DOUBLE)}
    const double = createTestDouble({ baseUrl: 'https://api.example.com/v1', faults: [{ kind: 'hang' }] })
    setupServer(http.all(double.baseUrl + '/*', ({ request }) =>
      double.fetch(request).catch(() => HttpResponse.error()))).listen()
    const init = { signal: AbortSignal.timeout(50), headers: { authorization: 'Bearer demo-free' } }
    console.log(await fetch(double.baseUrl + '/pets', init).catch(error => error.name))`
  const words = ['--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  assert.equal(stdout, 'TimeoutError\n')
})

test('msw - a status fault and a delay pass through unchanged', async () => {
  double.faults.arm({ kind: 'delay', duration: 1_000 })
  double.faults.arm({ kind: 'status', status: 502, body: '<h1>Bad Gateway</h1>' })
  const answer = await double.run(() => byFetch())
  assert.deepEqual(answer, [502, '<h1>Bad Gateway</h1>'])
})

async function byFetch(signal?: AbortSignal): Promise<unknown[]> {
  const init = { ...CREATE, ...(signal && { signal }) }
  const answer = await fetch(`${double.baseUrl}/pets`, init)
  return [answer.status, await answer.text().catch(error => `${error.name}: ${error.message}`)]
}

async function byHttps(signal: AbortSignal): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const { body, ...init } = CREATE
    const call = https.request(`${double.baseUrl}/pets`, { ...init, signal }, answer => {
      text(answer)
        .catch(error => `${error.name}: ${error.message}`)
        .then(content => resolve([answer.statusCode, content]))
    })
    call.on('error', reject)
    call.end(body)
  })
}
