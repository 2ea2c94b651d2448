import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConformanceOptions, verify } from '../../adapters/conformance/index.js'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'
import { ROOT } from '../support/paths.js'
import { type Choices, type Count, plainServer } from './correct-servers/plain-server.js'

const KEY = 'Correct-key-1'
const SPARE = 'Correct-spare-1'
const FOLDER = join(ROOT, 'test/conformance/correct-servers')
const DAY = 86_400_000

/** What HTTP libraries do themselves: a hint says so. */
const NODE = ['MUST http.host-twice']
const PYTHON = [
  'SHOULD deprecation.announced',
  'MUST http.host-missing',
  'MUST http.host-twice',
  'MUST http.space-before-colon',
  'MUST http.content-length-differs',
]
const GO = ['SHOULD deprecation.announced', 'MUST http.length-and-chunked']

/** Servers on Node's http that make other choices than ours. */
const PLAIN: Readonly<Record<string, Omit<Choices, 'apiKeys' | 'clock'>>> = {
  'whose limits do not apply, with constant headers': {
    limits: (_, now) => ({ limit: 60, remaining: 60, reset: now + 60_000 }),
  },
  'that is strict, and knows few categories': {
    limits: windows(1_000, 60_000),
    strict: true,
    categories: [1, 2, 3],
    defaultStatus: 'pending',
  },
  'with large ids, the newest first': {
    limits: windows(1_000, 60_000),
    firstId: 9_007_199_254_740_993n,
    newestFirst: true,
  },
  'with windows of ten seconds, and dates in Retry-After': {
    limits: windows(40, 10_000),
    retryAfter: (seconds, now) => new Date(now + seconds * 1000).toUTCString(),
    defaultStatus: 'available',
  },
  'with windows of a day': { limits: windows(900, DAY) },
  'with a bucket that is refilled all the time': { limits: bucket(30, 1_000) },
  'that writes JSON with spaces': { limits: windows(1_000, 60_000), indent: 3 },
}

for (const [name, choices] of Object.entries(PLAIN)) {
  test(`conformance - a server ${name} breaks nothing`, async t => {
    let now = Date.parse('2030-01-01T00:00:00Z')
    const clock = () => now
    const baseUrl = await serve(t, plainServer({ apiKeys: [KEY, SPARE], clock, ...choices }))
    const sleep = async (ms: number) => {
      now += ms
    }
    const time = { clock, sleep, maxWaitMs: 10 * DAY }
    const options = { baseUrl, limits: true, spareKey: SPARE, ...time }
    assert.deepEqual(await broken(options), NODE)
  })
}

test('conformance - a server without limits and their headers gets one SHOULD', async t => {
  const baseUrl = await serve(t, plainServer({ apiKeys: [KEY], clock: Date.now }))
  assert.deepEqual(await broken({ baseUrl }), ['SHOULD ratelimit.present.200', ...NODE])
})

test('conformance - our own server behind nginx breaks nothing', {
  skip: missing('nginx'),
}, async t => {
  const apiKeys = { [KEY]: { id: 'main', plan: 'business' } } as const
  const server = await listen(createStore({ storage: memoryStorage(), apiKeys }), { port: 0 })
  t.after(() => server.close())
  assert.deepEqual(await broken({ baseUrl: await behindNginx(t, server.port) }), [])
})

test("conformance - a server on Python's http.server breaks only what that library does", {
  skip: missing('python3'),
}, async t => {
  const port = await start(t, 'python3', [join(FOLDER, 'server.py'), KEY])
  assert.deepEqual(await broken({ baseUrl: `http://127.0.0.1:${port}/v1` }), PYTHON)
})

test("conformance - a server on Go's net/http breaks only what that library does", {
  skip: missing('go'),
}, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-go-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const program = join(folder, 'server')
  const build = spawnSync('go', ['build', '-o', program, join(FOLDER, 'server.go')], {
    env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
  })
  assert.equal(build.status, 0, String(build.stderr))
  const port = await start(t, program, [KEY])
  assert.deepEqual(await broken({ baseUrl: `http://127.0.0.1:${port}/v1` }), GO)
})

/** The failed checks, each with its level. */
async function broken(options: Omit<ConformanceOptions, 'apiKey'>): Promise<readonly string[]> {
  const { results } = await verify({ ...options, apiKey: KEY })
  return results.flatMap(({ id, level, failure }) => {
    if (!failure) return []
    if (id.startsWith('http.')) assert.match(failure.hint ?? '', /HTTP library .* --skip http\./)
    return [`${level} ${id}`]
  })
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** A program that prints its port. */
async function start(t: TestContext, program: string, words: readonly string[]): Promise<number> {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return Number(line)
}

async function behindNginx(t: TestContext, port: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-nginx-'))
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port: front } = free.address() as AddressInfo
  await new Promise(resolve => free.close(resolve))
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  await writeFile(
    join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr emerg;
events {}
http { access_log off; ${paths}
  server { listen 127.0.0.1:${front}; location / { proxy_pass http://127.0.0.1:${port}; proxy_set_header Host $http_host; proxy_http_version 1.1; } } }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: 'ignore',
  })
  t.after(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  const baseUrl = `http://127.0.0.1:${front}/v1`
  // It is ready a moment after it was started.
  for (let left = 200; left > 0; left--) {
    const isReady = await fetch(baseUrl).then(
      () => true,
      () => false,
    )
    if (isReady) return baseUrl
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('nginx does not start')
}

function missing(program: string): string | false {
  const { error } = spawnSync(program, [program === 'go' ? 'version' : '-V'])
  return error ? `needs ${program}` : false
}

/** At most `limit` requests of each key in windows of `ms`. */
function windows(limit: number, ms: number): (key: string, now: number) => Count {
  const used = new Map<string, { reset: number; count: number }>()
  return (key, now) => {
    const last = used.get(key)
    const window = last && last.reset > now ? last : { reset: now - (now % ms) + ms, count: 0 }
    used.set(key, { ...window, count: window.count + 1 })
    return { limit, remaining: limit - window.count - 1, reset: window.reset }
  }
}

/** A bucket for each key, which gains one request every `ms`. */
function bucket(limit: number, ms: number): (key: string, now: number) => Count {
  const levels = new Map<string, { at: number; level: number }>()
  return (key, now) => {
    const { at, level } = levels.get(key) ?? { at: now, level: limit }
    const filled = Math.min(limit, level + (now - at) / ms)
    const left = filled >= 1 ? filled - 1 : filled
    levels.set(key, { at: now, level: left })
    const remaining = filled >= 1 ? Math.floor(left) : -1
    // When the next request is possible, or all of them are.
    const wait = filled >= 1 ? (limit - left) * ms : (1 - filled) * ms
    return { limit, remaining, reset: now + wait }
  }
}
