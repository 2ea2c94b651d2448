import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { COMMANDS } from '../adapters/cli/commands.js'
import { withRequestLog } from '../adapters/cli/serve/request-log.js'
import { withConsole } from '../adapters/pages/console/index.js'
import { jsonFileStorage } from '../adapters/stores/json-file/index.js'
import { memoryRateLimitStore } from '../adapters/stores/memory.js'
import { createTestDouble } from '../adapters/test-double/index.js'
import { judge } from '../adapters/verdict/judge/index.js'
import { judgeText } from '../adapters/verdict/judge/report.js'
import { secretsOf } from '../adapters/verdict/log/redact.js'
import { ApiError, type ApiHandler, createStore, type StoreEvents, toJson } from '../src/index.js'
import { T0 } from './limits/rate-limit-vectors.js'
import { borrowedCommand } from './support/borrowed-command.js'
import { runInThread, startInThread } from './support/command.js'
import { temporaryFolder } from './support/temporary-folder.js'

const SECRET = 'k3y-that-must-not-leak'
const SPARE = 'sp4re-that-must-not-leak'
const PASSWORD = 'p4ss-that-must-not-leak'
const VARIABLES = {
  ADOPTION_STORE_API_KEY: SECRET,
  DATABASE_URL: `postgres://app:${PASSWORD}@127.0.0.1:1/db`,
  REDIS_URL: `redis://:${PASSWORD}@127.0.0.1:1`,
}
/** Shows the key in every place that a request has. */
const CARELESS_CLIENT = `const secret = '${SECRET}'
  const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
  for (const authorization of ['Bearer ' + key, 'bearer  ' + secret, 'Basic ' + secret, secret])
    for (const path of ['/pets/1', '/pets?' + key + '=' + secret, '/' + secret, '/pets/%6b' + secret.slice(1)])
      for (const body of [undefined, '{"name":"Ada","categoryId":1}', '{"' + key + '":"' + secret + '"}', key]) {
        const headers = { authorization, 'content-type': 'application/json', 'x-key': key, cookie: secret }
        const method = body === undefined ? 'GET' : 'POST'
        await (await fetch(url + path, { method, headers, body })).text()
      }`
const LIMITS = { perMinute: 3, perDay: 100, banAfterRejections: 1 }
const API_KEYS = { [SECRET]: { id: 'ci', plan: 'enterprise', limits: LIMITS } } as const
const EVENTS: (keyof StoreEvents)[] = [
  'pet.created',
  'limit.exceeded',
  'key.banned',
  'ratelimit.degraded',
]

test('secrets - no event, log line, response, error, counter or file contains a key', async t => {
  const folder = temporaryFolder(t)
  await using storage = jsonFileStorage(join(folder, 'pets.json'))
  const rateLimitStore = memoryRateLimitStore()
  let failing = false
  const store = createStore({
    storage,
    apiKeys: API_KEYS,
    clock: () => T0,
    rateLimitStore: {
      ...rateLimitStore,
      consume(...request) {
        if (failing) throw new Error('no connection')
        return rateLimitStore.consume(...request)
      },
    },
  })
  const seen: string[] = []
  const names = new Set<string>()
  for (const name of EVENTS) {
    store.events.on(name, event => {
      names.add(name)
      seen.push(toJson(event), String((event as { error?: unknown }).error))
    })
  }
  const logged = withRequestLog(store, {
    format: 'json',
    clock: () => T0,
    keys: () => [SECRET],
    colors: false,
    write: line => seen.push(line),
  })
  const authorization = `Bearer ${SECRET}`
  const headers = { authorization, 'content-type': 'application/json' }
  const bodies = ['{"name":"Ada","categoryId":1}', 'nonsense', '{}', '{}', '{}', '{}']
  for (const body of bodies) {
    const request = { method: 'POST', path: '/v1/pets', query: SECRET, headers, body }
    seen.push(toJson(await logged.handle(request)))
  }
  for (const token of [`${SECRET}x`, `Basic ${SECRET}`]) {
    const wrong = { ...headers, authorization: token }
    seen.push(
      toJson(await logged.handle({ method: 'GET', path: '/v1/pets', query: '', headers: wrong })),
    )
  }
  const thrown = await store
    .forKey(SECRET)
    .listPets()
    .catch((error: unknown) => error)
  assert.ok(thrown instanceof ApiError)
  seen.push(thrown.message, String(thrown.stack), toJson({ ...thrown }))
  failing = true
  await logged.handle({ method: 'GET', path: '/v1/pets', query: '', headers })
  seen.push(toJson(await rateLimitStore.dump()))
  const files = await readdir(folder, { recursive: true })
  assert.ok(files.includes('pets.json.journal'))
  for (const file of files) {
    // The lock is a folder; only its name carries data.
    seen.push(file, await readFile(join(folder, file), 'utf8').catch(() => ''))
  }
  assert.deepEqual([...names].sort(), [...EVENTS].sort())
  assert.ok(seen.length > 20)
  const leaks = seen.filter(text => text.includes(SECRET))
  assert.deepEqual(leaks, [])
})

test('secrets - no journal, snapshot, report, archive or recording of a double contains a key', async () => {
  await using double = createTestDouble({ apiKeys: API_KEYS })
  const recording = await double.record()
  for (const authorization of [`Bearer ${SECRET}`, `Bearer ${SECRET}x`, SECRET]) {
    for (let n = 0; n < 6; n++) {
      await double.fetch(`pets?unknown=${SECRET}`, { headers: { authorization } })
    }
  }
  const { findings } = double.report()
  assert.ok(findings.length > 0)
  const files = [double.har(), await recording.json()]
  const shown = toJson([double.requests(), await double.snapshot(), findings, files])
  assert.equal(double.requests().length, 18)
  assert.ok(!shown.includes(SECRET))
})

test('secrets - nothing that is logged, listed, archived or recorded contains a token', async () => {
  const token = 'a-token-that-must-not-leak'
  await using double = createTestDouble({ control: token })
  const recording = await double.record()
  const seen: string[] = []
  const logs = (['json', 'pretty'] as const).map(format => ({
    format,
    clock: () => T0,
    keys: secretsOf(() => ({}), [token]),
    colors: false,
    write: (line: string) => void seen.push(line),
  }))
  const logged = logs.reduce<ApiHandler>(withRequestLog, double.handler)
  const handler = withConsole(logged, { token })
  const ask = async (path: string, given: object = {}) =>
    (await handler.handle({ method: 'GET', path, query: '', headers: {}, ...given })).body
  const bearer = { headers: { authorization: `Bearer ${token}` } }
  const key = { headers: { authorization: 'Bearer demo-free', 'x-control': token } }
  for (const path of [`/_control/${token}/clock`, `/_contrl/${token}`, `/v1/${token}`]) {
    for (const request of [{}, bearer, key, { query: `token=${token}` }]) await ask(path, request)
  }
  const archive = { ...bearer, method: 'POST', body: JSON.stringify([1, 2, 3, 4, 5, 6, 7, 8]) }
  const headers = { ...bearer.headers, 'content-type': 'application/json' }
  const har = await ask('/_console/har', { ...archive, headers })
  assert.match(har, /_contrl/)
  const events = await ask('/_console/events', bearer)
  assert.match(events, /_contrl/)
  seen.push(har, events, toJson([double.requests(), double.har(), double.report()]))
  seen.push(await recording.json())
  assert.ok(seen.length > 20)
  const leaks = seen.filter(text => text.includes(token))
  assert.deepEqual(leaks, [])
})

test('secrets - no output or file of any command contains a key, a password or a token', async t => {
  const keys = join(temporaryFolder(t), 'keys.json')
  const folder = temporaryFolder(t)
  const at = (name: string) => join(folder, name)
  await writeFile(
    keys,
    toJson({ [SECRET]: { id: 'a', plan: 'pro' }, [SPARE]: { id: 'b', plan: 'pro' } }),
  )
  const seen = new Map<string, string>()
  const run = async (text: string, ...command: readonly string[]) => {
    const words = [...text.split(' '), ...command]
    const { stdout, stderr } = await runInThread(words, { ...process.env, ...VARIABLES })
    seen.set(text, stdout + stderr)
    return stdout
  }
  // Printed on purpose, this once.
  const created = (await run(`keys new ${keys} --id web --plan pro`)).trim()
  seen.clear()
  const secrets = [SECRET, SPARE, PASSWORD, created]
  const client = borrowedCommand(CARELESS_CLIENT)
  const files = (name: string) => `--report ${at(`${name}.json`)} --junit ${at(`${name}.xml`)}`
  for (const log of ['pretty', 'json']) {
    const store = at(`${log}-pets.json`)
    const words = `-p 0 --json --console --log ${log} --keys ${keys} --store ${store}`
    const server = startInThread(words.split(' '))
    const ready = JSON.parse(String(await once(server.stdout, 'data')))
    const [origin = '', token = ''] = ready.console.split('/#token=')
    secrets.push(token)
    const verify = `verify ${origin}/v1 --only create.required,openapi.version`
    await run(`${verify} --spare-api-key ${SPARE} --junit ${at(`${log}-verify.xml`)}`)
    await run(`${verify} --json --api-key ${token}`)
    await run(`exec --through ${origin}/v1 ${files(`${log}-through`)} --`, ...client)
    await (await fetch(`${origin}/v1/${token}?${token}`)).text()
    server.kill()
    seen.set(`serve ${words}`, await text(server.stderr))
    await run(`copy ${store} ${at(`${log}-copy.json`)}`)
    await run(`check ${store}`)
  }
  for (const name of ['one', 'two']) {
    const outputs = `${files(name)} --har ${at(`${name}.har`)} --record ${at(`${name}-run.json`)}`
    await run(`exec --keys ${keys} --strict=notes ${outputs} --`, ...client)
  }
  await run(`exec --explore --schedules 3 --keys ${keys} ${files('explore')} --`, ...client)
  for (const words of [
    `replay ${at('one-run.json')} --check`,
    `diff ${at('one-run.json')} ${at('two-run.json')}`,
    `openapi --keys ${keys}`,
    `keys list ${keys}`,
    `keys revoke ${keys} ${SECRET}`,
    'serve --store postgres:',
    'serve -p 0 --rate-limit-store redis: --require-rate-limit-store',
    'copy postgres: pets.json',
    'skill',
    'help',
    'version',
  ]) {
    await run(words)
  }
  for (const name of await readdir(folder)) {
    seen.set(name, await readFile(at(name), 'utf8').catch(() => ''))
  }
  const named = new Set([...seen.keys()].map(words => words.split(' ')[0]))
  for (const command of Object.keys(COMMANDS)) assert.ok(named.has(command), command)
  const shown = [...seen].filter(([, output]) => secrets.some(secret => output.includes(secret)))
  assert.deepEqual(shown, [])
})

test('secrets - no report of judge contains a key, wherever the client put it', async () => {
  const double = createTestDouble({ apiKeys: API_KEYS, baseUrl: 'https://store.test/v1' })
  const watched = judge({ fetch: double.fetch, baseUrl: double.baseUrl, clock: () => T0 })
  const paths = [`pets?unknown=${SECRET}`, `pets?${SECRET}=1`, SECRET, `pets/1?key=${SECRET}`]
  for (const authorization of [`Bearer ${SECRET}`, `Bearer ${SECRET}x`, SECRET]) {
    for (const path of paths) {
      for (let n = 0; n < 6; n++) {
        await watched.fetch(`${double.baseUrl}/${path}`, { headers: { authorization } })
      }
    }
  }
  const report = watched.report()
  assert.ok(report.findings.length > 2)
  const shown = [toJson(report), judgeText(report)]
  try {
    watched.assertPolite()
  } catch (error) {
    shown.push(String(error), String((error as Error).stack))
  }
  assert.equal(shown.length, 4)
  const leaks = shown.filter(text => text.includes(SECRET))
  assert.deepEqual(leaks, [])
})
