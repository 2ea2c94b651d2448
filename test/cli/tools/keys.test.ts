import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { runInThread } from '../../support/command.js'
import { served } from '../../support/served.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

test('keys - new prints a key that the server accepts, and stores its SHA-256 only', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const created = await keys(`new ${path} --id web --plan pro --expires-at 2100-01-01`)
  assert.equal(created.code, 0, created.stderr)
  const key = created.stdout.trim()
  assert.match(key, /^[\w-]{43}$/)
  assert.match(created.stderr, /^animal-adoption-store: added a key of 'web' to .*\n$/)
  const digest = createHash('sha256').update(key).digest('hex')
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    [`sha256:${digest}`]: { id: 'web', plan: 'pro', expiresAt: '2100-01-01T00:00:00.000Z' },
  })
  assert.equal(statSync(path).mode & 0o777, 0o600)

  const server = await started(t, '--keys', path)
  assert.equal(await statusWith(server.baseUrl, key), 200)
  assert.equal(await statusWith(server.baseUrl, `sha256:${digest}`), 401)
  assert.equal(await statusWith(server.baseUrl, `${key}x`), 401)
})

test('keys - a key is replaced without a gap, followed by a server that watches the file', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const old = (await keys(`new ${path} --id web --plan free`)).stdout.trim()
  const server = await started(t, '--keys', path, '--watch')
  const reloaded = once(server.stderr, 'data')
  const next = (await keys(`new ${path} --id web --plan free`)).stdout.trim()
  assert.match(String(await reloaded), /: added web\n$/)
  assert.deepEqual(
    [await statusWith(server.baseUrl, old), await statusWith(server.baseUrl, next)],
    [200, 200],
  )
  const ambiguous = await keys(`revoke ${path} web`)
  assert.deepEqual([ambiguous.code, ambiguous.stdout], [2, ''])
  const [, digest = ''] = /name one by its digest: ([0-9a-f]{16}), /.exec(ambiguous.stderr) ?? []
  const again = once(server.stderr, 'data')
  assert.equal((await keys(`revoke ${path} ${digest}`)).code, 0)
  await again
  assert.deepEqual(
    [await statusWith(server.baseUrl, old), await statusWith(server.baseUrl, next)],
    [401, 200],
  )
})

test('keys - list names owners, plans and digests, and never a key', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  await writeFile(path, '{"s3cret-key":{"id":"old","plan":"free","expiresAt":"2020-01-01"}}')
  await keys(`new ${path} --id load --plan enterprise --per-minute 9 --per-day 99`)
  const { stdout, code } = await keys(`list ${path}`)
  assert.equal(code, 0)
  assert.match(stdout, /^old {3}free {8}expires 2020-01-01 {2}[0-9a-f]{16} {2}in plain text$/m)
  assert.match(stdout, /^load {2}enterprise {2}never expires {7}[0-9a-f]{16} {2}by digest$/m)
  assert.doesNotMatch(stdout, /s3cret/)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8'))['s3cret-key'], {
    id: 'old',
    plan: 'free',
    expiresAt: '2020-01-01',
  })
})

test('keys - a change keeps the mode and a symbolic link, and leaves no file beside', async t => {
  const directory = temporaryFolder(t)
  const [path, link] = [join(directory, 'real.json'), join(directory, 'keys.json')]
  await writeFile(path, '{}', { mode: 0o640 })
  symlinkSync('real.json', link)
  assert.equal((await keys(`new ${link} --id a --plan free`)).code, 0)
  assert.equal(statSync(path).mode & 0o777, 0o640)
  assert.equal(Object.keys(JSON.parse(readFileSync(path, 'utf8'))).length, 1)
  assert.equal(existsSync(`${path}.new`), false)
  assert.equal((await keys(`revoke ${link} a`)).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(link, 'utf8')), {})
})

test('keys - the note on a new key is one line, whatever its id', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const { code, stderr } = await keys(`new ${path} --id a\nb\x1b[31m --plan pro`)
  assert.equal(code, 0)
  assert.match(stderr, /^animal-adoption-store: added a key of 'a\\nb\\x1b\[31m' to \P{Cc}+\n$/u)
})

test('keys - exec passes on the first key that is valid when it starts', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const shown = join(temporaryFolder(t), 'shown')
  const run = (file: object, ...options: string[]) => {
    writeFileSync(path, JSON.stringify(file))
    const show = ['sh', '-c', 'echo "$ADOPTION_STORE_API_KEY" >"$0"', shown]
    return runInThread(['exec', '--keys', path, ...options, '--', ...show])
  }
  const passed = async (file: object, ...options: string[]) => {
    rmSync(shown, { force: true })
    await run(file, ...options)
    return readFileSync(shown, 'utf8')
  }
  const old = { id: 'old', plan: 'pro', expiresAt: '2020-01-01T00:00:00Z' }
  const file = { 'plain-old': old, 'plain-new': { id: 'new', plan: 'pro' } }
  assert.equal(await passed(file), 'plain-new\n')
  assert.equal(await passed(file, '--time', '2019-12-31T23:59:59Z'), 'plain-old\n')
  assert.equal(await passed(file, '--time', '2020-01-01'), 'plain-new\n')
  const { code, stderr } = await run({ 'plain-old': old })
  assert.equal(code, 2)
  assert.match(
    stderr,
    /no key to pass on: .*keys\.json holds only digests and expired keys; add a /,
  )
})

function keys(line: string) {
  return runInThread(['keys', ...line.split(' ')])
}

async function started(t: TestContext, ...words: string[]) {
  const { child, ready } = await served(t, ['--log', 'silent', ...words])
  return { stderr: child.stderr as Readable, baseUrl: ready.baseUrl as string }
}

async function statusWith(baseUrl: string, key: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/pets`, { headers: { authorization: `Bearer ${key}` } })
  return answer.status
}
