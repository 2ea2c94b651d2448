import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInThread, startInThread } from '../../support/command.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

test('keys - new prints a key that the server accepts, and stores its SHA-256 only', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const created = await keys('new', path, '--id', 'web', '--plan', 'pro', '--expires', '2100-01-01')
  assert.equal(created.code, 0, created.stderr)
  const key = created.stdout.trim()
  assert.match(key, /^[\w-]{43}$/)
  assert.match(created.stderr, /^animal-adoption-store: added a key of 'web' to .*\n$/)
  const digest = createHash('sha256').update(key).digest('hex')
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    [`sha256:${digest}`]: { id: 'web', plan: 'pro', expires: '2100-01-01T00:00:00.000Z' },
  })
  assert.equal(statSync(path).mode & 0o777, 0o600)

  const server = await started(t, '--keys', path)
  assert.equal(await statusWith(server.baseUrl, key), 200)
  assert.equal(await statusWith(server.baseUrl, `sha256:${digest}`), 401)
  assert.equal(await statusWith(server.baseUrl, `${key}x`), 401)
})

test('keys - a key is replaced without a gap, followed by a server that watches the file', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const old = (await keys('new', path, '--id', 'web', '--plan', 'free')).stdout.trim()
  const server = await started(t, '--keys', path, '--watch')
  const reloaded = once(server.stderr, 'data')
  const next = (await keys('new', path, '--id', 'web', '--plan', 'free')).stdout.trim()
  assert.match(String(await reloaded), /: added web\n$/)
  assert.deepEqual(
    [await statusWith(server.baseUrl, old), await statusWith(server.baseUrl, next)],
    [200, 200],
  )
  const ambiguous = await keys('revoke', path, 'web')
  assert.deepEqual([ambiguous.code, ambiguous.stdout], [2, ''])
  const [, digest = ''] = /name one by its digest: ([0-9a-f]{16}), /.exec(ambiguous.stderr) ?? []
  const again = once(server.stderr, 'data')
  assert.equal((await keys('revoke', path, digest)).code, 0)
  await again
  assert.deepEqual(
    [await statusWith(server.baseUrl, old), await statusWith(server.baseUrl, next)],
    [401, 200],
  )
})

test('keys - list names owners, plans and digests, and never a key', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  await writeFile(path, '{"s3cret-key":{"id":"old","plan":"free","expires":"2020-01-01"}}')
  await keys(
    'new',
    path,
    '--id',
    'load',
    '--plan',
    'enterprise',
    '--per-minute',
    '9',
    '--per-day',
    '99',
  )
  const { stdout, code } = await keys('list', path)
  assert.equal(code, 0)
  assert.match(stdout, /^old {3}free {8}expires 2020-01-01 {2}[0-9a-f]{16} {2}in plain text$/m)
  assert.match(stdout, /^load {2}enterprise {2}never expires {7}[0-9a-f]{16} {2}by digest$/m)
  assert.doesNotMatch(stdout, /s3cret/)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8'))['s3cret-key'], {
    id: 'old',
    plan: 'free',
    expires: '2020-01-01',
  })
})

test('keys - a change keeps the mode and a symbolic link, and leaves no file beside', async t => {
  const directory = temporaryFolder(t)
  const [path, link] = [join(directory, 'real.json'), join(directory, 'keys.json')]
  await writeFile(path, '{}', { mode: 0o640 })
  symlinkSync('real.json', link)
  assert.equal((await keys('new', link, '--id', 'a', '--plan', 'free')).code, 0)
  assert.equal(statSync(path).mode & 0o777, 0o640)
  assert.equal(Object.keys(JSON.parse(readFileSync(path, 'utf8'))).length, 1)
  assert.equal(existsSync(`${path}.new`), false)
  assert.equal((await keys('revoke', link, 'a')).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(link, 'utf8')), {})
})

test('keys - every error is one line, and the file stays as it is', async t => {
  const directory = temporaryFolder(t)
  const path = join(directory, 'keys.json')
  const content = '{"s3cret-key":{"id":"a","plan":"free"}}'
  const cases: [words: string[], line: RegExp][] = [
    [[], /Expected keys new\|list\|revoke <file\.json> \[id\]; see keys --help/],
    [['new'], /see keys --help/],
    [['grow', path], /see keys --help/],
    [['new', path], /needs an owner and a plan: --id <id> --plan <plan>/],
    [
      ['new', path, '--id', 'b', '--plan', 'gold'],
      /--plan takes free, pro, business or enterprise, got 'gold'$/m,
    ],
    [['new', path, '--id', 'a', '--plan', 'pro'], /key 2 must be one plan for each id$/m],
    [
      ['new', path, '--id', 'b', '--plan', 'enterprise'],
      /needs its limits: --per-minute <n> --per-day <n>$/m,
    ],
    [['new', path, '--id', 'b', '--plan', 'pro', '--per-day', 'x'], /--per-day takes a whole/],
    [
      ['new', path, '--id', 'b', '--plan', 'pro', '--expires', '1893456000000'],
      /--expires takes an instant in the years 0000 to 9999 in ISO 8601, such as \S+, got '1893456000000'$/m,
    ],
    [['new', path, '--id', 'b', '--plan', 'pro', '--expires', 'soon'], /got 'soon'$/m],
    [['list', path, '--id', 'a'], /--id works with keys new only$/m],
    [['revoke', path, 'a', '--plan', 'pro'], /--plan works with keys new only$/m],
    [['revoke', path], /keys revoke <file> <id>; see keys --help/],
    [['revoke', `${path}.none`, 'nobody'], /\.none does not exist$/m],
    [['revoke', path, 'nobody'], /has no key with that id or digest; see keys list/],
    // Somebody may paste the key itself.
    [['revoke', path, 's3cret-key'], /has no key with that id or digest; see keys list/],
    [['revoke', path, ''], /has no key with that id or digest; see keys list/],
    [['list', join(directory, 'none.json')], /none\.json does not exist/],
    [
      ['new', join(directory, 'no/keys.json'), '--id', 'b', '--plan', 'pro'],
      /no does not exist; create that folder first/,
    ],
  ]
  for (const [words, line] of cases) {
    await writeFile(path, content)
    const { code, stdout, stderr } = await keys(...words)
    assert.deepEqual([code, stdout], [2, ''], `${words}: ${stderr}`)
    assert.match(stderr, line)
    assert.match(stderr, /^animal-adoption-store: [^\n]+\n$/)
    assert.doesNotMatch(stderr, /s3cret/)
    assert.equal(readFileSync(path, 'utf8'), content)
    assert.equal(existsSync(`${path}.new`), false)
  }
  for (const record of ['null', '{}', '{"id":"a"}', '"s3cret"']) {
    await writeFile(path, `{"s3cret-key":${record}}`)
    for (const words of [
      ['list', path],
      ['revoke', path, 'a'],
    ]) {
      const { code, stdout, stderr } = await keys(...words)
      assert.deepEqual([code, stdout], [2, ''], `${words}: ${stderr}`)
      assert.match(stderr, /^animal-adoption-store: --keys [^\n]+: key 1[^\n]+\n$/)
      assert.doesNotMatch(stderr, /s3cret/)
    }
  }
  await writeFile(path, content)
  await writeFile(`${path}.new`, '')
  const locked = await keys('revoke', path, 'a')
  assert.match(locked.stderr, /another process is changing .*; if none is, remove keys\.json\.new/)
  assert.equal(readFileSync(path, 'utf8'), content)
})

test('keys - an error in a file names positions, never names or values', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const secret = 's3cret'
  const good = { id: secret, plan: 'pro' }
  const limits = { perMinute: secret, perDay: 1 }
  const cases: [file: unknown, problem: RegExp][] = [
    [
      { apiKeys: { [secret]: good } },
      /: key 1 has an unknown field; expected one of id, plan, lim/,
    ],
    [{ [secret]: secret }, /: key 1 must be an object$/],
    [{ [secret]: { ...good, plan: secret } }, /: key 1: `plan` must be one of 'free', /],
    [{ [secret]: { ...good, id: '' } }, /: key 1: `id` must be a non-empty, /],
    [{ [secret]: { ...good, id: 'addr:s3cret' } }, /: key 1: `id` must be a non-empty, /],
    [{ [secret]: { ...good, expires: secret } }, /: key 1: `expires` must be an instant /],
    [{ [secret]: { ...good, limits } }, /: key 1: `limits` must be undefined on pro$/],
    [{ k: good, [secret]: { ...good, plan: 'free' } }, /: key 2 must be one plan for each id$/],
    [{ k: good, 's3cret key': good }, /: key 2 must be printable ASCII without spaces$/],
    [{ k: good, 'sha256:s3cret': good }, /: key 2 must be followed by 64 lower-case hex digits$/],
    [
      { k: good, e: { id: secret, plan: 'enterprise', limits } },
      /: key 2: `perMinute` must be an /,
    ],
    [[secret], /must look like /],
    [secret, /must look like /],
  ]
  for (const [file, problem] of cases) {
    await writeFile(path, JSON.stringify(file))
    for (const words of [
      ['keys', 'list', path],
      ['exec', '--keys', path, '--', 'true'],
      ['--keys', path, '-p', '0'],
    ]) {
      const { code, stdout, stderr } = await runInThread(words)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr.trimEnd(), problem)
      assert.doesNotMatch(stderr, /s3cret/)
    }
  }
})

test('keys - the note on a new key is one line, whatever its id', async t => {
  const path = join(temporaryFolder(t), 'keys.json')
  const { code, stderr } = await keys('new', path, '--id', 'a\nb\x1b[31m', '--plan', 'pro')
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
  const old = { id: 'old', plan: 'pro', expires: '2020-01-01T00:00:00Z' }
  const file = { 'plain-old': old, 'plain-new': { id: 'new', plan: 'pro' } }
  assert.equal(await passed(file), 'plain-new\n')
  assert.equal(await passed(file, '--clock', '2019-12-31T23:59:59Z'), 'plain-old\n')
  assert.equal(await passed(file, '--clock', '2020-01-01'), 'plain-new\n')
  const { code, stderr } = await run({ 'plain-old': old })
  assert.equal(code, 2)
  assert.match(
    stderr,
    /no key to pass on: .*keys\.json holds only digests and expired keys; add a /,
  )
})

function keys(...words: string[]) {
  return runInThread(['keys', ...words])
}

/** A server on a free port, stopped with the test. */
async function started(t: TestContext, ...words: string[]) {
  const server = startInThread(['--port', '0', '--json', '--log', 'silent', ...words])
  t.after(async () => {
    server.kill()
    await server.exit
  })
  const early = server.exit.then(code => assert.fail(`ended with ${code}`))
  early.catch(() => {})
  const [line] = await Promise.race([once(server.stdout, 'data'), early])
  return { stderr: server.stderr, baseUrl: JSON.parse(String(line)).baseUrl as string }
}

async function statusWith(baseUrl: string, key: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/pets`, { headers: { authorization: `Bearer ${key}` } })
  return answer.status
}
