import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'
import { broken, KEY } from '../conformance/correct-servers/failed-checks.js'
import { firstOutput } from '../support/first-output.js'
import { ROOT } from '../support/paths.js'

const FOLDER = join(ROOT, 'test/conformance/correct-servers')

/** What these HTTP libraries do themselves: a hint says so. */
const PYTHON = [
  'SHOULD deprecation.announced',
  'MUST http.host-missing',
  'MUST http.host-twice',
  'MUST http.space-before-colon',
  'MUST http.content-length-differs',
]
const GO = ['SHOULD deprecation.announced', 'MUST http.length-and-chunked']

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

/** A program that prints its port. */
async function start(t: TestContext, program: string, words: readonly string[]): Promise<number> {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const line = await firstOutput(child)
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
