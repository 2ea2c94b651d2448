import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { toFetchHandler } from '../../../adapters/http/fetch.js'
import { listen } from '../../../adapters/http/index.js'
import { withDocs } from '../../../adapters/pages/openapi/docs.js'
import { openApiDocument } from '../../../adapters/pages/openapi/index.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import { type ApiHandler, createStore } from '../../../src/index.js'
import { BUILD_URL } from '../../support/paths.js'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })

test('withDocs - GET /openapi.json is the document, without key or quota', async () => {
  await using server = await listen(withDocs(store), { port: 0 })
  const response = await fetch(`${server.origin}/openapi.json`)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/json')
  const download = 'attachment; filename="animal-adoption-store.json"'
  assert.equal(response.headers.get('content-disposition'), download)
  assert.equal(response.headers.get('x-ratelimit-limit'), null)
  assert.deepEqual(await response.json(), openApiDocument({ baseUrl: './v1' }))
})

test('withDocs - the address is relative to the description, below any prefix and host', async () => {
  for (const [basePath, address] of [
    ['/v1', './v1'],
    ['', '.'],
  ] as const) {
    const handler = withDocs(createStore({ storage: memoryStorage(), apiKeys: {}, basePath }))
    const headers = { host: 'pets.test:81', 'x-forwarded-proto': 'https' }
    const { servers } = JSON.parse((await get(handler, '/openapi.json', { headers })).body)
    assert.equal(servers[0].variables.base_url.default, address)
  }
})

test('withDocs - describes staging and pagination as configured', async () => {
  const options = { stagingBaseUrl: 'http://127.0.0.1:4281/v1', pagination: true }
  const { body } = await get(withDocs(store, options), '/openapi.json')
  assert.deepEqual(JSON.parse(body), openApiDocument({ ...options, baseUrl: './v1' }))
  const { headers } = await get(withDocs(store, options), '/docs')
  assert.match(
    headers['content-security-policy'] ?? '',
    /connect-src 'self' http:\/\/127\.0\.0\.1:4281(;|$)/,
  )
  assert.throws(() => withDocs(store, { paginated: true } as object), { name: 'OptionError' })
})

test('withDocs - the page loads files of this server only', async () => {
  const handler = withDocs(store)
  const page = await get(handler, '/docs')
  assert.equal(page.status, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(
    page.headers['content-security-policy'] ?? '',
    /^default-src 'none'; .*connect-src 'self'(;|$)/,
  )
  const loaded = [...page.body.matchAll(/(?:src|<link.* href)="([^"]+)"/g)].map(([, url]) =>
    String(url),
  )
  assert.deepEqual(loaded, [
    'data:,',
    'docs/swagger-ui.css',
    'docs/page.css',
    'docs/swagger-ui-bundle.js',
    'docs/start.js',
  ])
  for (const url of loaded.slice(1)) {
    const { status, headers, body } = await get(handler, `/${url}`)
    assert.equal(status, 200, url)
    assert.match(headers['content-type'] ?? '', /^text\/(css|javascript); charset=utf-8$/)
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
  }
  assert.doesNotMatch((await get(handler, '/docs/start.js')).body, /https?:/)
})

test('withDocs - HEAD has no body, and everything else is passed on', async () => {
  const handler = withDocs(store)
  const head = await get(handler, '/docs', { method: 'HEAD' })
  assert.deepEqual([head.status, head.body], [200, ''])
  assert.notEqual(head.headers['content-length'], '0')
  for (const [method, path] of [
    ['POST', '/docs'],
    ['GET', '/docs/'],
    ['GET', '/docs/package.json'],
    ['GET', '/v1/pets'],
  ] as const) {
    const { status, body } = await get(handler, path, { method })
    const own = await get(store, path, { method })
    assert.deepEqual([status, body], [own.status, own.body])
  }
})

test('withDocs - files are cached by ETag', async () => {
  const handler = withDocs(store)
  for (const path of ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json']) {
    const plain = await get(handler, path)
    const { etag = '' } = plain.headers
    assert.match(etag, /^"[\w-]+"$/)
    const again = await get(handler, path, { headers: { 'if-none-match': `"other", ${etag}` } })
    assert.deepEqual([again.status, again.body, again.headers['etag']], [304, '', etag])
    assert.equal(again.headers['content-length'], undefined)
    assert.equal((await get(handler, path, { headers: { 'if-none-match': '"x"' } })).status, 200)
  }
})

test('withDocs - works with toFetchHandler', async () => {
  const response = await toFetchHandler(withDocs(store))(new Request('https://pets.test/docs'))
  assert.match(await response.text(), /<title>Animal Adoption Store<\/title>/)
})

test('withDocs - without swagger-ui-dist, the page says how to install it', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'docs-'))
  t.after(() => rm(directory, { recursive: true }))
  await cp(new URL('src', BUILD_URL), join(directory, 'src'), { recursive: true })
  await cp(new URL('adapters', BUILD_URL), join(directory, 'adapters'), { recursive: true })
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  const alone = await import(pathToFileURL(join(directory, 'adapters/pages/openapi/docs.js')).href)
  const handler: ApiHandler = alone.withDocs(store)
  for (const path of ['/docs', '/docs/swagger-ui-bundle.js']) {
    const { status, body } = await get(handler, path)
    assert.equal(status, 404)
    assert.match(body, /npm install swagger-ui-dist/)
  }
  assert.equal((await get(handler, '/openapi.json')).status, 200)
})

async function get(
  handler: ApiHandler,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
) {
  const answer = await handler.handle({ method, path, query: '', headers })
  const lower = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value])
  return { ...answer, headers: Object.fromEntries(lower) as Record<string, string> }
}
