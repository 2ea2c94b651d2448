import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import { startNginx, withoutNginx } from '../engines/engines.js'
import { firstOutput } from '../support/first-output.js'
import { ROOT } from '../support/paths.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { broken, KEY } from '../verify/correct-servers/failed-checks.js'

const FOLDER = join(ROOT, 'test/verify/correct-servers')

/** None of them announces that an operation is deprecated. */
const UNANNOUNCED = ['SHOULD deprecation.announced']

test('verify - our own server behind nginx, below a prefix, breaks nothing', {
  skip: withoutNginx,
}, async t => {
  const apiKeys = { [KEY]: { id: 'main', plan: 'business' } } as const
  const server = await listen(createStore({ storage: memoryStorage(), apiKeys }), { port: 0 })
  t.after(() => server.close())
  const pass = `proxy_pass http://127.0.0.1:${server.port}/; proxy_set_header Host $http_host`
  await using nginx = await startNginx(
    `server { listen 80; location /shop/ { ${pass}; proxy_http_version 1.1; } }`,
  )
  assert.deepEqual(await broken({ baseUrl: `${nginx.url}/shop/v1` }), [])
})

test("verify - a server on Python's http.server breaks nothing", {
  skip: missing('python3'),
}, async t => {
  const port = await start(t, 'python3', [join(FOLDER, 'server.py'), KEY])
  assert.deepEqual(await broken({ baseUrl: `http://127.0.0.1:${port}/v1` }), UNANNOUNCED)
})

test("verify - a server on Go's net/http breaks nothing", {
  skip: missing('go'),
}, async t => {
  const program = join(temporaryFolder(t), 'server')
  const build = spawnSync('go', ['build', '-o', program, join(FOLDER, 'server.go')], {
    env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
  })
  assert.equal(build.status, 0, String(build.stderr))
  const port = await start(t, program, [KEY])
  assert.deepEqual(await broken({ baseUrl: `http://127.0.0.1:${port}/v1` }), UNANNOUNCED)
})

test("verify - a server on PHP's built-in server breaks nothing", {
  skip: missing('php'),
}, async t => {
  const folder = temporaryFolder(t)
  const script = 'exec php -S 127.0.0.1:0 "$0" 2>&1'
  const env = { ...process.env, API_KEY: KEY, PETS: folder }
  const child = spawn('sh', ['-c', script, join(FOLDER, 'server.php')], { env })
  t.after(() => child.kill('SIGKILL'))
  const [origin = ''] = /http:[^)]+/.exec(await firstOutput(child)) ?? []
  assert.deepEqual(await broken({ baseUrl: `${origin}/v1` }), UNANNOUNCED)
})

for (const framework of ['express', 'fastify', 'hono']) {
  test(`verify - a server on ${framework} breaks nothing`, {
    skip: isMissing(framework) && 'needs npm install --prefix test/verify/correct-servers',
  }, async t => {
    const port = await start(t, process.execPath, [join(FOLDER, 'frameworks.mjs'), framework, KEY])
    assert.deepEqual(await broken({ baseUrl: `http://127.0.0.1:${port}/v1` }), UNANNOUNCED)
  })
}

/** CI installs them. */
function isMissing(framework: string): boolean {
  const isRequired = process.env['ADOPTION_STORE_ENGINES'] === 'required'
  return !isRequired && !existsSync(join(FOLDER, 'node_modules', framework))
}

/** A program that prints its port. */
async function start(t: TestContext, program: string, words: readonly string[]): Promise<number> {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const line = await firstOutput(child)
  return Number(line)
}

function missing(program: string): string | false {
  const { error } = spawnSync(program, [program === 'go' ? 'version' : '-V'])
  return error ? `needs ${program}` : false
}
