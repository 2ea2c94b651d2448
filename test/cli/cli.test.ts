import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { runInThread, startInThread } from '../support/command.js'
import { firstMessage } from '../support/first-output.js'
import { serveHttp } from '../support/http-server.js'
import { MAIN, ROOT_URL } from '../support/paths.js'
import { served } from '../support/served.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const FREE = { authorization: 'Bearer demo-free' }
const ADA = {
  method: 'POST',
  headers: { ...FREE, 'content-type': 'application/json' },
  body: '{"name":"Ada","categoryId":1}',
}

test('cli - the ready line of --json has what scripts need', async t => {
  const { child, ready } = await served(t)
  const { baseUrl, origin, apiKeys, store, animals, control, pid } = ready
  assert.match(baseUrl, /^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  assert.equal(origin, baseUrl.slice(0, -3))
  assert.deepEqual(apiKeys, {
    free: 'demo-free',
    pro: 'demo-pro',
    business: 'demo-business',
    enterprise: 'demo-enterprise',
  })
  assert.deepEqual({ store, animals, control }, { store: 'memory:', animals: 41, control: null })
  assert.equal(pid, child.pid)
})

test('cli - the banner fits on a screen, and its command works when pasted', async t => {
  const server = await started(t)
  const banner = server.ready
  assert.ok(banner.split('\n').length < 24, banner)
  const [, url = '', header = ''] = /curl -i '(.*)' -H '(.*)'/.exec(banner) ?? []
  const [name = '', value = ''] = header.split(': ')
  const answer = await fetch(url, { headers: { [name]: value } })
  assert.equal(answer.status, 200)
  assert.equal(((await answer.json()) as unknown[]).length, 3)
  for (const limit of ['limit', 'remaining', 'reset']) {
    assert.match(answer.headers.get(`x-ratelimit-${limit}`) ?? '', /^\d+$/)
  }
  const refused = await fetch(url)
  assert.equal(refused.status, 401)
  assert.match(refused.headers.get('x-ratelimit-limit') ?? '', /^60$/)
})

test('cli - environments: staging has its own animals and counters', async t => {
  const { baseUrl, staging } = await ready(t, '--staging-port', '0')
  assert.notEqual(staging.baseUrl, baseUrl)
  assert.equal((await fetch(`${staging.baseUrl}/pets`, ADA)).status, 201)
  assert.equal((await fetch(`${staging.baseUrl}/pets/42`, { headers: FREE })).status, 200)
  const production = await fetch(`${baseUrl}/pets/42`, { headers: FREE })
  assert.equal(production.status, 404)
  assert.equal(production.headers.get('x-ratelimit-remaining'), '59')
})

test('cli - --seed, --empty, --rate-limiting off, --no-cors and --pagination do what they say', async t => {
  const seed = await file(t, '[{"name":"Ada","categoryId":9223372036854775807}]')
  const seeded = await ready(t, '--seed', seed, '--rate-limiting', 'off', '--no-cors')
  assert.equal(seeded.animals, 1)
  const answer = await fetch(`${seeded.baseUrl}/pets`, { headers: FREE })
  assert.equal(
    await answer.text(),
    '[{"id":1,"name":"Ada","categoryId":9223372036854775807,"status":"available"}]',
  )
  assert.equal(answer.headers.get('x-ratelimit-limit'), null)
  assert.equal(answer.headers.get('access-control-allow-origin'), null)

  const paged = await ready(t, '--pagination')
  const page = await fetch(`${paged.baseUrl}/pets?limit=2`, { headers: FREE })
  assert.equal(page.headers.get('link'), '<pets?limit=2&after=2>; rel="next"')
  assert.equal(page.headers.get('access-control-allow-origin'), '*')
  assert.equal((await ready(t, '--empty')).animals, 0)
})

test('cli - animals come back in every form in which they go out, with their ids', async t => {
  const rex = '{"id":7,"name":"Rex","categoryId":9223372036854775807,"status":"sold"}'
  const text = rex.replace('7,', '"7",').replace('9223372036854775807', '"9223372036854775807"')
  for (const [content, nextId] of [
    [`[${rex}]`, 8],
    [`{"pets":[${rex}],"nextId":12,"crc32":"00000000"}`, 12],
    [`{"$schema":"x","pets":[${text}],"shelters":[]}`, 8],
  ] as const) {
    const from = await file(t, content)
    const { baseUrl } = await ready(t, '--seed', from)
    assert.equal(await (await fetch(`${baseUrl}/pets`, { headers: FREE })).text(), `[${rex}]`)
    const created = await fetch(`${baseUrl}/pets`, ADA)
    assert.equal(((await created.json()) as { id: number }).id, nextId)
    if (content.includes('crc32')) continue
    const refused = await ended('--store', from)
    assert.match(refused.stderr, /cannot be read: .*use copy\n$/)
    const to = `${from}.copy.json`
    const { code, stderr } = await ended('copy', from, to)
    assert.equal(code, 0, stderr)
    assert.match(await readFile(to, 'utf8'), new RegExp(`\n${rex}\n\\],"nextId":8,`))
  }
})

test('cli - --rate-limiting is on, off or shadow', async t => {
  const limits =
    '{"small-key":{"id":"small","plan":"enterprise","limits":{"perMinute":1,"perDay":9}}}'
  const keys = await file(t, limits)
  for (const [mode, status, remaining, areDescribed] of [
    ['on', 429, '0', true],
    ['off', 200, null, false],
    ['shadow', 200, '0', true],
  ] as const) {
    // A clock that stands still: however long the requests take, their minute does not end.
    const words = ['--keys', keys, '--time', '2030-01-01T00:00:00Z', '--rate-limiting', mode]
    const { baseUrl, origin } = await ready(t, ...words)
    const headers = { authorization: 'Bearer small-key' }
    await fetch(`${baseUrl}/pets?limit=1`, { headers })
    const last = await fetch(`${baseUrl}/pets?limit=1`, { headers })
    assert.equal(last.status, status, mode)
    assert.equal(last.headers.get('x-ratelimit-remaining'), remaining, mode)
    const openApi = await (await fetch(`${origin}/openapi.json`)).text()
    assert.equal(openApi.includes('X-RateLimit-Limit'), areDescribed, mode)
    assert.equal(openApi.includes('"429"'), mode === 'on', mode)
  }
  const { stdout } = await ended('openapi', '--rate-limiting', 'shadow')
  assert.doesNotMatch(stdout, /"429"/)
})

test('cli - --idempotency takes a duration, alone a day, and is described', async t => {
  const create = async (baseUrl: string) => {
    const headers = { ...FREE, 'content-type': 'application/json', 'idempotency-key': 'k' }
    const body = '{"name":"Rex","categoryId":1}'
    const { status } = await fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
    const again = await fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
    return [status, again.status, again.headers.get('idempotent-replayed')]
  }
  for (const words of [['--idempotency'], ['--idempotency', '1m']]) {
    const { baseUrl, origin } = await ready(t, ...words)
    assert.deepEqual(await create(baseUrl), [201, 201, 'true'])
    assert.match(await (await fetch(`${origin}/openapi.json`)).text(), /Idempotency-Key/)
  }
  assert.deepEqual(await create((await ready(t)).baseUrl), [201, 201, null])
  const { stdout } = await ended('openapi', '--idempotency')
  assert.match(stdout, /"422"/)
  assert.doesNotMatch((await ended('openapi')).stdout, /"422"/)
})

test('cli - own keys replace the demo keys, and the log names their owners', async t => {
  const keys = await file(t, '{"s3cret":{"id":"ci","plan":"pro"}}')
  const server = await started(t, '--json', '--keys', keys, '--log', 'json')
  const { baseUrl, apiKeys } = JSON.parse(server.ready)
  assert.deepEqual(apiKeys, {})
  const own = await fetch(`${baseUrl}/pets?s3cret`, { headers: { authorization: 'Bearer s3cret' } })
  assert.equal(own.headers.get('x-ratelimit-limit'), '300')
  assert.equal((await fetch(`${baseUrl}/pets`, { headers: FREE })).status, 401)
  const lines = (await stopped(server)).log
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({ event }) => event === undefined)
  const logged = lines.map(({ method, path, query, status, keyId, plan, remaining, limit }) => [
    `${method} ${path}?${query} ${status}`,
    ...[keyId, plan, remaining, limit],
  ])
  assert.deepEqual(logged, [
    ['GET /v1/pets?REDACTED 200', 'ci', 'pro', 299, 300],
    ['GET /v1/pets? 401', null, null, 59, 60],
  ])
  assert.ok(lines.every(({ time, durationMs }) => Date.parse(time) > 0 && durationMs >= 0))
})

test('cli - with own keys or behind a proxy, the console is off unless asked for, and needs its token', async t => {
  const path = await file(t, '{"s3cret":{"id":"ci","plan":"pro"}}')
  const page = (url: string, authorization = '') =>
    fetch(url, { headers: { accept: 'text/html', authorization } })
  const typeOf = async (url: string) => (await page(url)).headers.get('content-type')
  for (const words of [
    ['--keys', path],
    ['--keys', path, '--host', '0.0.0.0'],
    ['--proxy-hops', '1'],
    ['--no-console'],
  ]) {
    const { origin, console: address } = await ready(t, ...words)
    assert.equal(address, null)
    assert.equal(await typeOf(`${origin}/`), 'application/json')
    assert.notEqual((await page(`${origin}/_console/info`)).status, 200)
  }
  assert.match(await (await page((await ready(t)).console)).text(), /^<!doctype html>/)
  const locked = await started(t, '--keys', path, '--console', '--proxy-hops', '1')
  const [, origin = '', token = ''] = /(http:\S+)\/#token=(\S+)/.exec(locked.ready) ?? []
  assert.match(await (await page(`${origin}/`)).text(), /^<!doctype html>/)
  assert.equal((await page(`${origin}/_console/info`)).status, 403)
  assert.equal((await page(`${origin}/_console/info`, `Bearer ${token}`)).status, 200)
})

test('cli - a file keeps the animals between runs, and is seeded once', async t => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'pets.json')
  const first = await served(t, ['--store', path])
  await fetch(`${first.ready.baseUrl}/pets`, ADA)
  const second = await ended('--store', path)
  assert.equal(second.code, 1)
  assert.match(second.stderr, new RegExp(`^animal-adoption-store: .*${first.child.pid}`))
  await first.stop()
  const { animals, store } = await ready(t, '--store', path)
  assert.deepEqual({ animals, store }, { animals: 42, store: path })
})

test('cli - a signal lets requests in flight finish and exits with 0', async t => {
  const { ready, stop } = await served(t, ['--delay', '300ms'])
  const answer = fetch(`${ready.baseUrl}/pets`, { headers: FREE })
  await arrived(ready.origin)
  assert.equal((await stop('SIGINT')).code, 0)
  assert.equal((await answer).status, 200)
})

test('cli - a second signal exits at once', async t => {
  const { child, ready, stop } = await served(t, ['--delay', '10m'])
  const { baseUrl, origin } = ready
  const cutOff = assert.rejects(fetch(`${baseUrl}/pets`, { headers: FREE }))
  await arrived(origin)
  child.kill('SIGTERM')
  await assert.rejects(async () => {
    // Once the first signal is handled, connections are refused.
    for (;;) await fetch(`${origin}/healthz`)
  })
  assert.equal((await stop()).code, 143)
  await cutOff
})

test('cli - a storage that cannot be closed is one line, and all else stops nevertheless', {
  // There, an open file keeps its folder in place.
  skip: process.platform === 'win32',
}, async t => {
  const folder = temporaryFolder(t)
  const [home, away] = [join(folder, 'home'), join(folder, 'away')]
  await mkdir(home)
  const words = ['--store', join(home, 'pets.json'), '--staging-port', '0', '--delay', '300ms']
  const { ready, stop } = await served(t, ['--log', 'silent', ...words])
  const { baseUrl, staging } = ready
  assert.equal((await fetch(`${baseUrl}/pets`, ADA)).status, 201)
  await rename(home, away)
  const answer = fetch(`${staging.baseUrl}/pets`, { headers: FREE })
  await arrived(staging.origin)
  const { code, log } = await stop()
  assert.equal(code, 1)
  assert.equal((await answer).status, 200)
  assert.match(log, /^animal-adoption-store: [^\n]*pets\.json[^\n]*\n$/)
})

test('cli - a command ignores the variables of options that it does not take', async t => {
  const directory = temporaryFolder(t)
  const [store, target] = [join(directory, 'pets.json'), join(directory, 'target.json')]
  await writeFile(store, '{"pets":[]}')
  const environment = {
    ADOPTION_STORE_EMPTY: '1',
    ADOPTION_STORE_JSON: '1',
    ADOPTION_STORE_SEED: 'none.json',
    ADOPTION_STORE_STRICT: '1',
    PORT: 'abc',
  }
  for (const words of [['check', store], ['copy', store, target], ['openapi']]) {
    const { code, stderr } = await endedIn(environment, ...words)
    assert.equal(code, 0, `${words}: ${stderr}`)
  }
})

test('cli - options that are not given come from the environment', async t => {
  const seed = await file(t, '[{"name":"Ada","categoryId":1}]')
  const environment = { ADOPTION_STORE_SEED: seed, ADOPTION_STORE_NO_CORS: '1', PORT: '99999' }
  const server = await startedIn(t, environment, '--json')
  const { baseUrl, animals } = JSON.parse(server.ready)
  assert.equal(animals, 1)
  const answer = await fetch(`${baseUrl}/pets`, { headers: FREE })
  assert.equal(answer.headers.get('access-control-allow-origin'), null)

  const { code } = await endedIn({ ADOPTION_STORE_WATCH: '1' }, 'openapi')
  assert.equal(code, 0, 'nothing to watch without a server')
})

test('cli - the banner shows the options in effect', async t => {
  const { ready } = await started(t, '--rate-limiting=off', '--delay=5ms', '--time=2030-01-01')
  assert.match(
    ready,
    /^ {2}Mode {6}no rate limits, 5 ms delay, clock frozen at 2030-01-01T00:00:00.000Z$/m,
  )
  assert.match(ready, /^ {2}Control {3}http:.*\/_control\/[0-9a-f-]{36}$/m)
  assert.match(ready, /^ {2}Docs {6}http:.*\/docs$/m)
  assert.doesNotMatch(ready, /requests a minute/)
  assert.doesNotMatch((await started(t)).ready, /Mode|Control/)
})

test('cli - --watch reloads seed and keys, of which a change of the keys keeps created animals, and never shows a key', async t => {
  const seed = await file(t, '[{"name":"Ada","categoryId":1}]')
  const keys = await file(t, '{"one-12345678":{"id":"one","plan":"free"}}')
  const words = ['--json', '--log', 'silent', '--watch', '--seed', seed, '--keys', keys]
  const server = await started(t, ...words)
  const { baseUrl } = JSON.parse(server.ready)
  const headers = { authorization: 'Bearer one-12345678', 'content-type': 'application/json' }
  const list = async () => {
    const answer = await fetch(`${baseUrl}/pets`, { headers })
    const names = ((await answer.json()) as { name: string }[]).map(({ name }) => name)
    return [answer.headers.get('x-ratelimit-limit'), ...names]
  }
  const two = '[{"name":"Bo","categoryId":1},{"name":"Cy","categoryId":2}]'
  await loggedAfter(server, () => writeFile(seed, two), /reloaded .*: 2 animals\n$/)
  const created = await fetch(`${baseUrl}/pets`, { ...ADA, headers })
  assert.deepEqual([created.status, await list()], [201, ['60', 'Bo', 'Cy', 'Ada']])

  const both =
    '{"one-12345678":{"id":"one","plan":"pro"},"two-12345678":{"id":"a\\nb","plan":"pro"}}'
  await loggedAfter(server, () => writeFile(keys, both), /: added a\\nb; changed one\n$/)
  assert.deepEqual(await list(), ['300', 'Bo', 'Cy', 'Ada'])

  await loggedAfter(server, () => writeFile(seed, '[{"name":"Dee"}]'), /; nothing was reloaded\n$/)
  assert.deepEqual(await list(), ['300', 'Bo', 'Cy', 'Ada'])
  await loggedAfter(server, () => writeFile(seed, two), /reloaded .*: 2 animals\n$/)
  await loggedAfter(server, () => writeFile(keys, '{"one-12345678":'), /; nothing was reloaded\n$/)
  assert.deepEqual(await list(), ['300', 'Bo', 'Cy'])
  const other = '{"two-12345678":{"id":"two","plan":"pro"}}'
  await loggedAfter(server, () => writeFile(keys, other), /reloaded .*removed .*one/)
  assert.equal((await fetch(`${baseUrl}/pets`, { headers })).status, 401)
  assert.doesNotMatch((await stopped(server)).log, /12345678/)
})

test('cli - --watch sees mounted Secrets, swapped links, and a folder that is made again', async t => {
  const folder = temporaryFolder(t)
  const version = async (name: string, id: string) => {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'keys.json'), `{"${id}":{"id":"${id}","plan":"free"}}`)
  }
  await version('..1', 'first')
  await symlink('..1', join(folder, '..data'))
  await symlink('..data/keys.json', join(folder, 'keys.json'))
  const path = join(folder, 'keys.json')
  const server = await started(t, '--json', '--log', 'silent', '--watch', '--keys', path)

  // As Kubernetes updates a volume: a new folder, then one rename of the link to it.
  await version('..2', 'second')
  await symlink('..2', join(folder, '..data_tmp'))
  const swap = () => rename(join(folder, '..data_tmp'), join(folder, '..data'))
  await loggedAfter(server, swap, /: added second; removed first\n$/)

  t.after(() => rm(`${folder}-away`, { recursive: true, force: true }))
  const move = () => rename(folder, `${folder}-away`)
  await loggedAfter(server, move, /keys\.json does not exist; nothing was reloaded\n$/)
  const makeAgain = async () => {
    await mkdir(folder)
    await writeFile(path, '{"third":{"id":"third","plan":"free"}}')
  }
  await loggedAfter(server, makeAgain, /: added third; removed second\n$/)
  await stopped(server)
})

test('cli - SIGTERM with --drain turns /readyz to 503 and keeps serving until the time is over', async t => {
  const words = ['--log', 'silent', '--drain', '1h']
  const { child, ready, stop } = await served(t, words)
  const { origin, baseUrl } = ready
  assert.equal((await fetch(`${origin}/readyz`)).status, 200)
  child.kill('SIGTERM')
  let answer = await fetch(`${origin}/readyz`)
  while (answer.status === 200) answer = await fetch(`${origin}/readyz`)
  assert.deepEqual(
    [answer.status, await answer.json()],
    [503, { status: 'draining', store: 'ok', rateLimitStore: 'ok' }],
  )
  const headers = { authorization: 'Bearer demo-free' }
  assert.equal((await fetch(`${baseUrl}/pets`, { headers })).status, 200)
  assert.equal((await fetch(`${origin}/healthz`)).status, 200)
  // A second signal ends the wait.
  assert.equal((await stop()).code, 128 + 15)

  const interrupted = await served(t, words)
  assert.equal((await interrupted.stop('SIGINT')).code, 0)
})

test('cli - with --log json, everything is a record: start, requests, reloads, stop and failures', async t => {
  const keys = await file(t, '{"one-12345678":{"id":"one","plan":"free"}}')
  const words = ['-p', '0', '--log', 'json', '--watch', '--keys', keys]
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const stdout = text(child.stdout)
  const records: Record<string, unknown>[] = []
  const ended = once(child, 'exit')
  const lines = createInterface(child.stderr)[Symbol.asyncIterator]()
  const until = async (event: string) => {
    while (records.at(-1)?.['event'] !== event) {
      records.push(JSON.parse((await lines.next()).value))
    }
    return records.at(-1) as Record<string, string>
  }
  const { baseUrl } = await until('ready')
  await fetch(`${baseUrl}/pets`)
  // At once, as a file that is being written is reported.
  await writeFile(`${keys}~`, '{"two-12345678":{"id":"two","plan":"free"}}')
  await rename(`${keys}~`, keys)
  const { message } = await until('reloaded')
  assert.match(message ?? '', /: added two; removed one$/)
  child.kill('SIGTERM')
  await until('stopped')
  await ended
  assert.deepEqual(
    records.map(record => record['event'] ?? record['status']),
    ['starting', 'ready', 401, 'reloaded', 'stopping', 'stopped'],
  )
  assert.ok(records.every(({ time }) => !Number.isNaN(Date.parse(time as string))))
  assert.doesNotMatch(JSON.stringify(records), /12345678/)
  assert.equal(await stdout, '')

  const { port } = await serveHttp(t)
  const failed = await endedIn({}, '--log', 'json', '-p', String(port))
  const last = JSON.parse(failed.stderr.trimEnd().split('\n').at(-1) ?? '')
  assert.deepEqual([failed.code, last.event], [1, 'failed'])
  assert.match(last.message, /^port \d+ is taken; use --port 0/)
})

test('cli - a port that is taken by a store is said to be, with words that npm start accepts', async t => {
  const { origin } = await ready(t)
  const { port } = new URL(origin)
  for (const [variables, words] of [
    [{}, '--port 0'],
    [{ npm_lifecycle_event: 'start' }, 'npm start -- --port 0'],
  ] as const) {
    const { code, stderr } = await endedIn(variables, '-p', port)
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `animal-adoption-store: port ${port} is taken: a store answers at ${origin}/ already; use ${words} to pick a free one\n`,
    )
  }
})

test('cli - --open opens the console in a browser', {
  skip: process.platform !== 'linux',
}, async t => {
  const folder = temporaryFolder(t)
  const opened = join(folder, 'opened')
  await writeFile(
    join(folder, 'xdg-open'),
    `#!/bin/sh\necho "$1" >${opened}~ && mv ${opened}~ ${opened}`,
    {
      mode: 0o755,
    },
  )
  const PATH = `${folder}:${process.env['PATH']}`
  const server = await startedIn(t, { PATH }, '--json', '-q', '--open', '--delay', '1ms')
  while (!existsSync(opened)) await setImmediate()
  // Lists of processes show the arguments of the browser, so they do not have the token.
  const path = readFileSync(opened, 'utf8').trim()
  assert.match(path, /console\.html$/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const address = JSON.parse(server.ready).console
  assert.match(address, /#token=/)
  assert.ok(readFileSync(path, 'utf8').includes(`url=${address}"`))
  await stopped(server)
  assert.equal(existsSync(path), false)
})

test('cli - output that cannot be written is one line', {
  skip: !existsSync('/dev/full'),
}, async () => {
  const child = spawn('sh', ['-c', `"$0" "$1" openapi >/dev/full`, process.execPath, MAIN])
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  assert.equal(stderr, 'animal-adoption-store: cannot write the output: ENOSPC\n')
  assert.equal(code, 1)
})

test('cli - what nothing catches, such as a port that Node forbids, is one line', async () => {
  const script = `
    process.argv.splice(1, 0, ${JSON.stringify(MAIN)}, '--port', '0', '-q')
    require('node:net').Server.prototype.listen = () =>
      process.nextTick(() => { throw new Error('Use --allow-net\\nat listen') })
    require(${JSON.stringify(MAIN)})`
  const child = spawn(process.execPath, ['-e', script])
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  assert.equal(stderr, 'animal-adoption-store: Use --allow-net\n')
  assert.equal(code, 1)
})

test('cli - an old Node gets one line that names the version to install', async () => {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'))
  const needed = engines.node.replace('>=', '')
  for (const [node, isOld] of [
    ['20.9.0', true],
    [`${needed}.0`, false],
  ] as const) {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '${node}' })`
    const script = `process.argv[2] = '--version'; ${pretend}; await import(${JSON.stringify(MAIN)})`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, 'main'])
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    assert.equal(code, isOld ? 1 : 0)
    const line = `animal-adoption-store needs Node ${needed} or newer, this is ${node}; install a newer Node.\n`
    assert.equal(stderr, isOld ? line : '')
  }
})

for (const [words, unneeded] of [
  [['--version'], ['http', 'fs/promises', 'internal/deps/undici/undici', 'crypto']],
  [['--help'], ['http', 'fs/promises', 'internal/deps/undici/undici', 'crypto']],
  [
    ['exec', '--', 'true'],
    ['internal/deps/undici/undici', 'crypto', 'tls', 'zlib'],
  ],
] as const) {
  const skip = MAIN.endsWith('.cjs') ? false : 'it runs from source'
  test(`cli - ${words.join(' ')} loads nothing that it does not need`, { skip }, async () => {
    const script = `
      process.argv.splice(1, 0, ...${JSON.stringify([MAIN, ...words])})
      process.on('exit', () => process.send(process.moduleLoadList))
      require(${JSON.stringify(MAIN)})`
    const child = spawn(process.execPath, ['-e', script], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const [message, [code]] = await Promise.all([firstMessage(child), once(child, 'exit')])
    const loaded = message as string[]
    assert.equal(code, 0)
    assert.deepEqual(
      unneeded.filter(name => loaded.includes(`NativeModule ${name}`)),
      [],
    )
    assert.ok(loaded.includes('NativeModule fs'))
  })
}

test('cli - --help and --version print and exit with 0', async () => {
  const help = await ended('--help')
  assert.equal(help.code, 0)
  assert.match(help.stdout, /^Usage: animal-adoption-store/)
  assert.ok(help.stdout.split('\n').every(line => line.length <= 80))
  assert.deepEqual(await ended('help'), help)
  const version = await ended('--version')
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
  assert.deepEqual(await ended('version'), version)
  assert.deepEqual(await ended('-v'), version)
})

test('cli - help prints one command, with its options only', async () => {
  const flagsOf = (help: string) =>
    [...help.matchAll(/^ +(?:-\w, | {4})--([\w-]+)/gm)].map(([, flag]) => flag)
  for (const [command, own, foreign] of [
    ['serve', 'port', 'strict'],
    ['exec', 'strict', 'port'],
    ['verify', 'spare-api-key', 'port'],
    ['copy', 'help', 'port'],
  ] as const) {
    const help = await ended(command, '--help')
    assert.equal(help.code, 0)
    assert.match(help.stdout, new RegExp(`^Usage: animal-adoption-store \\[?${command}`))
    const flags = flagsOf(help.stdout)
    assert.deepEqual([flags.includes(own), flags.includes(foreign)], [true, false])
    assert.ok(help.stdout.split('\n').every(line => line.length <= 80))
    assert.deepEqual(await ended('help', command), help)
    assert.deepEqual(await ended(command, '-h'), help)
  }
  const top = (await ended('help')).stdout
  assert.deepEqual(flagsOf(top), [])
})

test('cli - start is serve', async t => {
  const { baseUrl } = JSON.parse((await started(t, 'start', '--json', '-q')).ready)
  assert.equal((await fetch(`${baseUrl}/pets`)).status, 401)
})

test('cli - openapi prints the document that the server also serves, with both servers', async t => {
  const printed = JSON.parse((await ended('openapi')).stdout)
  const { origin, staging } = await ready(t, '--staging-port', '0')
  const { servers, ...served } = JSON.parse(await (await fetch(`${origin}/openapi.json`)).text())
  assert.deepEqual({ ...printed, servers: undefined }, { ...served, servers: undefined })
  assert.equal(servers[0].variables.base_url.default, './v1')
  assert.equal(servers[1].variables.staging_base_url.default, staging.baseUrl)
  assert.equal((await fetch(`${origin}/docs`)).status, 200)
})

/** A server on a free port, ended with the test. */
function started(t: TestContext, ...words: string[]) {
  return startedIn(t, {}, ...words)
}

async function startedIn(t: TestContext, environment: NodeJS.ProcessEnv, ...words: string[]) {
  const command = startInThread(['--port', '0', ...words], { ...process.env, ...environment })
  t.after(async () => {
    command.kill()
    await command.exit
  })
  const log = text(command.stderr)
  let printed = ''
  const output = new Promise<string>(resolve => command.stdout.on('end', () => resolve(printed)))
  await new Promise<void>((resolve, reject) => {
    command.stdout.on('data', chunk => {
      printed += chunk
      if (printed.endsWith('Ctrl+C\n') || printed.endsWith('}\n')) resolve()
    })
    command.exit.then(async code => reject(new Error(`exit ${code}: ${await log}`)), reject)
  })
  return { command, ready: printed, output, log }
}

type Server = Awaited<ReturnType<typeof startedIn>>

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
async function ready(t: TestContext, ...words: string[]): Promise<any> {
  return JSON.parse((await started(t, '--json', '-q', ...words)).ready)
}

async function stopped({ command, output, log }: Server) {
  command.kill()
  return { code: await command.exit, output: await output, log: await log }
}

/**
 * The log after an act, up to the line in question. It listens before it acts, and on a busy
 * machine a file that is half written may be reported first.
 */
async function loggedAfter(
  { command }: Server,
  act: () => Promise<void>,
  line: RegExp,
): Promise<string> {
  const signal = AbortSignal.timeout(60_000)
  const chunks = on(command.stderr, 'data', { signal, close: ['end'] })
  await act()
  let log = ''
  for await (const [chunk] of chunks) {
    log += chunk
    if (line.test(log)) return log
  }
  throw new Error(`It ended, and logged only: ${log}`)
}

/** Runs a command that exits on its own. */
function ended(...words: string[]) {
  return endedIn({}, ...words)
}

function endedIn(environment: NodeJS.ProcessEnv, ...words: string[]) {
  return runInThread(words, { ...process.env, ...environment })
}

/** A round trip after a request: once it returns, that request has been read. */
async function arrived(origin: string): Promise<void> {
  await fetch(`${origin}/healthz`)
}

async function file(t: TestContext, content: string | Uint8Array): Promise<string> {
  const path = join(temporaryFolder(t), 'file.json')
  await writeFile(path, content)
  return path
}
