import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInThread } from '../support/command.js'
import { serveHttp } from '../support/http-server.js'
import { temporaryFolder } from '../support/temporary-folder.js'

/**
 * Words of the command line, and what its error must name: options, values, files, the fix. How it says so is free.
 */
type Row = readonly [words: string | readonly string[], ...names: string[]]

const URL = 'http://127.0.0.1:1/v1'
const EXPLORE = 'exec --explore -- true'
const exec = (flags: string) => `exec ${flags} -- true`
const through = (flags: string) => exec(`--through ${URL} ${flags}`)
const verify = (flags: string) => `verify ${URL} --api-key s3cret-key ${flags}`

const USAGE: readonly Row[] = [
  ['--port 65536', '--port', '0 to 65535', "'65536'"],
  ['--port 0x1', '--port'],
  ['--port', '--port <n>'],
  ['--port 1 -p 2', '--port'],
  ['--ratelimit off', '--ratelimit', '--rate-limiting?'],
  ['--json=1', '--json'],
  ['opanapi', "'opanapi'", 'openapi?'],
  ['judge', "'judge'", 'exec --through?'],
  ['explore', "'explore'", 'exec --explore?'],
  ['-V', '-V', '--help'],
  ['help exce', "'exce'", 'exec?'],
  ['serve now', "'now'"],
  ['--watch', '--seed', '--keys'],
  ['--watch --seed x.json --control', '--watch', '--control'],
  ['--drain 30d', '--drain', '2147483647ms', "'30d'"],
  ['--idempotency=0s', '--idempotency', "'0s'"],
  ['--idempotency long', "'long'"],
  ['--store postgres://x/y?timeout=25d', '?timeout', "'25d'"],
  ['--time 1893456000000', '--time', "'1893456000000'"],
  ['--time 2030-01-01T00:00:00', '--time'],
  ['--log loud', '--log', 'pretty, json or silent', "'loud'"],
  [['--log', 'lo\nud'], "'lo\\nud'"],
  ['--store pets.txt', '--store', '.json, .sqlite'],
  ['--seed /nowhere.json', '--seed /nowhere.json'],
  [`--seed ${tmpdir()}`, '--seed', tmpdir()],
  ['--empty --seed x.json', '--empty', '--seed'],
  ['--console --no-console', '--console', '--no-console'],
  ['--host 0.0.0.0', '--host 0.0.0.0', 'demo keys'],
  ['--control --store pets.json', '--control', 'pets.json'],
  ['--control --host 0.0.0.0', '--host 0.0.0.0', 'demo keys'],
  ['--control --proxy-hops 1', '--proxy-hops', '--control'],
  ['--time 2030-01-01 --proxy-hops 1 --keys keys.json', '--proxy-hops', '--time'],
  ['--strict', '--strict', 'exec'],
  ['--report x', '--report', 'exec'],
  ['check x.json --json', '--json', 'serve and verify'],
  ['copy a.json b.json --seed x', '--seed', 'serve and exec'],
  ['check', 'check <store>'],
  ['check none.sqlite', 'none.sqlite'],
  ['copy none.db pets.json', 'none.db'],
  // No password and no key is shown, wherever it stands.
  ['--store postgres:admin:s3cret@db/x', 'postgres:…', 'DATABASE_URL'],
  ['--rate-limit-store redis:admin:s3cret@db', 'redis:…', 'REDIS_URL'],
  ['--store mysql:admin:s3cret@db/x', "'mysql:…'"],
  ['--store admin:s3cret@db/x', "'admin:…'"],
  ['--store //admin:s3cret@db/x', "'//…'"],
  ['--store postgresq://db/x?password=s3cret', "'postgresq://…'"],
  ['--rate-limit-store http://db/x?password=s3cret', "'http://…'"],
  ['--control --store postgres://db/x?user=a&password=s3cret', 'postgres://…'],
  ['postgres://u:s3cret@h/x', "'postgres://…'"],
  ['serve postgres://u:s3cret@h/x', "'postgres://…'"],
  ['serve -- postgres://u:s3cret@h/x', "'postgres://…'"],
  ['exec env DB=postgres://u:s3cret@h/x', 'exec -- env DB=postgres://…'],
  ['--store postgres://me:s3cret@h/d?timeout=0s', '?timeout', "'0s'"],
  ['--store postgres://me:s3cret@h:x/d', '--store', 'postgres:'],
  ['--store postgres:', 'DATABASE_URL'],
  ['--rate-limit-store redis:', 'REDIS_URL'],
  ['--rate-limit-store redis://:s3cret?x@h', '--rate-limit-store', 'redis:'],
  ['--rate-limit-store redis://h?s3cret=1', '--rate-limit-store', 'timeout, ca, prefix'],
  ['--store postgres://h/d?s3cret=1', '--store', 'timeout, connections, schema'],
  ['--store postgres://h/d?connections=0', '?connections takes a whole number from 1'],
  ['--store postgres://h/d?schema=A-b', '`schema`', 'lower-case letters'],
  ['--rate-limit-store redis://h?ca=/nowhere.pem', '--rate-limit-store', 'rediss://'],
  ['--rate-limit-store rediss://h?ca=/nowhere.pem', '?ca /nowhere.pem'],
  ['--rate-limit-store redis://me:s3cret@h --control', '--control', 'redis://…'],
  ['--require-rate-limit-store', '--require-rate-limit-store', '--rate-limit-store redis:'],
  [['--keys', ' {"s3cret":{"id":"ci","plan":"pro"}}'], '--keys', 'file'],
  ['keys new http://u:s3cret@h --id a --plan pro', 'http://…'],
  ['--metrics=http://u:s3cret@h', '--metrics', "'http://…'"],
  ['--metrics=a/b', '--metrics', '<host> or <host>:<port>', "'a/b'"],
  ['--metrics :', '--metrics', '<host> or <host>:<port>'],
  // It would be the address 0.0.36.248.
  ['--metrics 9464', '--metrics', '<host> or <host>:<port>'],
  ...[
    ['http://u:s3cret@h', 'http://…'],
    ['u:s3cret@h', 'u:…'],
  ].flatMap(([url, shown = '']): Row[] => [
    [`--seed ${url}`, `--seed ${shown}`],
    [`--keys ${url}`, `--keys ${shown}`],
    [`--port ${url}`, '--port', `'${shown}'`],
    [`--host ${url}`, `--host ${shown}`],
    [`keys list ${url}`, shown],
    [`replay ${url}`, shown],
    [exec(`--allow ${url}`), '--allow'],
    [exec(`--strict=${url}`), '--strict'],
    [exec(`--schedule ${url}`), '--schedule'],
  ]),
  [exec('--port 1'), '--port', 'serve and replay'],
  ['exec', 'exec -- <command>'],
  [['exec', '--', ''], 'exec -- <command>'],
  ['exec -- no-such-command', 'no-such-command', 'ENOENT', 'sh -c'],
  ['exec --explore -- no-such-command', 'no-such-command', 'ENOENT'],
  [exec('--time noon'), '--time'],
  [exec('--advertise http://h:s3cret@i'), '--advertise'],
  [through('--host localhost'), '--through', '--host'],
  [exec('--allow depricated.called'), '--allow', "'depricated.called'", 'deprecated.called,'],
  // It does not take the next option for its value.
  [exec('--explore --seed --jobs 4'), '--seed <file.json|edge>'],
  [exec('--explore --faults resett'), '--faults', 'reset'],
  [exec('--explore --depth 0'), '--depth', "'0'"],
  [exec('--explore --only pets'), '--only', "'pets'"],
  [exec('--explore --timeout 1'), '--timeout', "'1'"],
  [exec('--explore --timeout 25d'), '--timeout', "'25d'"],
  [exec('--explore --timeout 0s'), '--timeout', "'0s'"],
  ...['--schedule getPet#1=reset', '--require-faults', '--har a.har', '--record x.json'].map(
    (other): Row => [
      EXPLORE.replace('--explore', `--explore ${other}`),
      '--explore',
      other.slice(0, 5),
    ],
  ),
  [exec('--depth 2'), '--depth', '--explore'],
  [exec('--schedule getPet=reset'), '--schedule', "'getPet=reset'"],
  ...['--time 2030-01-01', '--seed x.json', '--keys x.json', '--har x.har', '--record x.json'].map(
    (other): Row => [through(other), '--through', other.slice(0, 5)],
  ),
  [through('--rate-limiting=off'), '--through', '--rate-limiting'],
  [through('--store x.json'), '--store', 'serve'],
  [through('--clients 0'), '--clients'],
  [through('--allow nothing'), '--allow', "'nothing'"],
  [exec('--through http://me:s3cret@127.0.0.1/v1'), '--through', 'user name'],
  [exec('--through s3cret'), '--through', 'got one without http://'],
  [exec(`--through ${URL}?key=s3cret`), '--through'],
  [exec('--api-key s3cret'), '--api-key', '--through'],
  [`serve --through ${URL}`, '--through', 'exec'],
  ['--quiet replay x.json', '--quiet', 'serve'],
  ['replay', 'replay <run.json>'],
  ['replay x.json x.json', 'replay <run.json>'],
  ['replay none.json', 'none.json'],
  ['replay x.json --until x', '--until'],
  ['replay x.json --port 99999', '--port'],
  ['replay x.json --check --port 5', '--check', '--port'],
  ['diff x.json', 'diff <good.json> <bad.json>'],
  ['keys', 'keys new|list|revoke <file.json>'],
  ['keys new', 'keys --help'],
  ['keys grow keys.json', 'keys --help'],
  ['verify', 'verify <base-url> --api-key <key>'],
  [`verify ${URL} s3cret-key`, 'verify <base-url> --api-key <key>'],
  [`verify ${URL}`, '--api-key <key>', 'ADOPTION_STORE_API_KEY'],
  [`verify ${URL} --api-key`, '--api-key <key>'],
  [['verify', URL, '--api-key', 's3cret x'], '--api-key'],
  [verify('--exhaust'), '--spare-api-key'],
  [verify('--exhaust --spare-api-key s3cret-key'), '--spare-api-key'],
  [verify('--only idempotency'), 'Idempotency-Key'],
  [verify('--only auht'), '--only', "'auht'"],
  [`verify ${URL} --api-kye=s3cret`, '--api-kye', '--api-key?'],
  ['verify localhost:4280/v1 --api-key s3cret-key', '<base-url>', 'got one without http://'],
  ['verify http://me:s3cret@127.0.0.1:1/v1 --api-key s3cret-key', '<base-url>'],
  [verify(''), URL],
]

test('usage errors - are one line with exit code 2, which names what is wrong and shows no secret', async () => {
  const before = readdirSync('.')
  for (const [words, ...names] of USAGE) {
    const { stderr } = await refused(words)
    for (const name of names) assert.ok(stderr.includes(name), `${words}: ${stderr}`)
  }
  assert.deepEqual(readdirSync('.'), before)
})

test('usage errors - name the variable that an option comes from', async () => {
  const keys = '{"s3cret":{"id":"ci","plan":"pro"}}'
  const cases: [environment: NodeJS.ProcessEnv, ...names: string[]][] = [
    [{ PORT: 'http' }, "'http'", '--port is set by PORT'],
    [{ PORT: 'http://u:s3cret@h' }, '--port is set by PORT'],
    [{ ADOPTION_STORE_PORT: 'x', PORT: '1' }, "'x'", 'ADOPTION_STORE_PORT'],
    [{ HOST: '0.0.0.0' }, '--host is set by HOST'],
    [{ ADOPTION_STORE_PORT: 'tcp://10.0.0.1:80', PORT: 'x' }, '--port is set by PORT'],
    [{ HOST: 'mymac', PORT: 'x' }, '--port is set by PORT'],
    [{ ADOPTION_STORE_EMPTY: '1', ADOPTION_STORE_SEED: 'x' }, '_SEED', '_EMPTY'],
    [{ ADOPTION_STORE_TIME: 'soon' }, "'soon'", '--time is set by ADOPTION_STORE_TIME'],
    [{ ADOPTION_STORE_STORE: 'postgres:', DATABASE_URL: 'nowhere' }, 'DATABASE_URL', '_STORE'],
    [{ ADOPTION_STORE_EMPTY: 'no' }, 'ADOPTION_STORE_EMPTY', "'no'"],
    [{ ADOPTION_STORE_NO_CORS: 'u:s3cret@h' }, 'ADOPTION_STORE_NO_CORS'],
    [{ ADOPTION_STORE_SEED: 'u:s3cret@h' }, '--seed u:…', 'ADOPTION_STORE_SEED'],
    [{ ADOPTION_STORE_KEYS: keys }, '--keys is set by ADOPTION_STORE_KEYS'],
  ]
  for (const [environment, ...names] of cases) {
    const { stderr } = await refused([], { environment })
    for (const name of names) assert.ok(stderr.includes(name), stderr)
  }
})

test('usage errors - say where a file is wrong, and show none of its keys', async t => {
  const secret = 's3cret'
  const good = { id: secret, plan: 'pro' }
  const limits = { perMinute: secret, perDay: 1 }
  const seeds: [content: string | Uint8Array, ...names: string[]][] = [
    [Buffer.from('[{"name":"Zo\xeb","categoryId":1}]', 'latin1'), 'UTF-8'],
    ['[{"name":"Ada","categoryId":1},\n {"name":"Bo","status" 1}]', 'line 2, column 24'],
    [
      '[{"name":"Ada","categoryId":1},{"name":"B","categoryId":1.5}]',
      "animal 2 ('B')",
      '`categoryId`',
    ],
    ['[{"name":"Ada\\nBo\\u001b[31m","categoryId":1.5}]', "('Ada\\nBo\\x1b[31m')", '`categoryId`'],
    ['[{"id":"7a","name":"Ada","categoryId":1}]', "animal 1 ('Ada')", '`id`'],
    [
      '[{"id":7,"name":"Ada","categoryId":1},{"id":7,"name":"Bo","categoryId":1}]',
      "animal 2 ('Bo')",
      '`id`',
    ],
    ['[{"name":"Ada","categoryId":1,"photo":""}]', "animal 1 ('Ada')", '`photo`'],
    ['{"animals":[]}', '`pets`'],
    ['{"pets":[],"journal":true}', 'while its store is open'],
    ['[{"name":"Ada","categoryId":1,"name":"Bo"}]', '`name` twice', 'line 1, column'],
  ]
  for (const [content, ...names] of seeds) {
    const { stderr } = await refused(['--seed', await file(t, content)])
    for (const name of ['--seed', ...names]) assert.ok(stderr.includes(name), stderr)
  }
  const keys: [content: unknown, ...names: string[]][] = [
    ['{s3cret: 1}', 'line 1, column 2'],
    [
      `{"${secret}":{"id":"a","plan":"pro"},"${secret}":{"id":"b","plan":"pro"}}`,
      'twice, at line 1',
    ],
    [{ apiKeys: { [secret]: good } }, 'key 1', 'id, plan, lim'],
    ...[null, {}, { id: 'a' }, secret].map((record): [object, string] => [
      { [secret]: record },
      'key 1',
    ]),
    [{ [secret]: { ...good, plan: secret } }, 'key 1: `plan`'],
    [{ [secret]: { ...good, id: '' } }, 'key 1: `id`'],
    [{ [secret]: { ...good, id: 'addr:s3cret' } }, 'key 1: `id`'],
    [{ [secret]: { ...good, expiresAt: secret } }, 'key 1: `expiresAt`'],
    [{ [secret]: { ...good, expiresAt: 1924991999 } }, 'key 1: `expiresAt`', 'not seconds'],
    [{ [secret]: { ...good, limits } }, 'key 1: `limits`'],
    [{ k: good, [secret]: { ...good, plan: 'free' } }, 'key 2'],
    [{ k: good, 's3cret key': good }, 'key 2'],
    [{ k: good, 'sha256:s3cret': good }, 'key 2'],
    [{ k: good, e: { id: secret, plan: 'enterprise', limits } }, 'key 2: `perMinute`'],
    [[secret]],
    [`"${secret}"`],
  ]
  for (const [content, ...names] of keys) {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    const path = await file(t, text)
    for (const words of [
      ['keys', 'list', path],
      ['keys', 'revoke', path, 'a'],
      ['exec', '--keys', path, '--', 'true'],
      ['--keys', path],
    ]) {
      const { stderr } = await refused(words)
      for (const name of ['--keys', ...names]) assert.ok(stderr.includes(name), stderr)
    }
    assert.equal(readFileSync(path, 'utf8'), text)
  }
})

test('keys - a change that cannot be made leaves the file as it is', async t => {
  const content = '{"s3cret-key":{"id":"a","plan":"free"}}'
  const path = await file(t, content)
  const add = `keys new ${path} --id b --plan`
  for (const [words, ...names] of [
    [`keys new ${path}`, '--id <id> --plan <plan>'],
    [`${add} gold`, '--plan', "'gold'"],
    [`keys new ${path} --id a --plan pro`, 'key 2', 'one plan'],
    [`${add} enterprise`, '--per-minute <n> --per-day <n>'],
    [`${add} pro --per-day x`, '--per-day'],
    [`${add} pro --expires-at 1893456000000`, '--expires-at', "'1893456000000'"],
    [`${add} pro --expires-at soon`, "'soon'"],
    [`keys list ${path} --id a`, '--id', 'keys new'],
    [`keys revoke ${path} a --plan pro`, '--plan', 'keys new'],
    [`keys revoke ${path}`, 'keys revoke <file> <id>'],
    [`keys revoke ${path}.none nobody`, '.none'],
    [`keys revoke ${path} nobody`, 'keys list'],
    // Somebody may paste the key itself.
    [`keys revoke ${path} s3cret-key`, 'keys list'],
    [['keys', 'revoke', path, ''], 'keys list'],
    [`keys list ${path}.none`, '.none'],
    [`keys new ${path}.no/keys.json --id b --plan pro`, 'folder'],
  ] as readonly Row[]) {
    const { stderr } = await refused(words)
    for (const name of names) assert.ok(stderr.includes(name), `${words}: ${stderr}`)
    assert.equal(readFileSync(path, 'utf8'), content)
    assert.equal(existsSync(`${path}.new`), false)
  }
  await writeFile(`${path}.new`, '')
  const locked = await runInThread(['keys', 'revoke', path, 'a'])
  assert.match(locked.stderr, /another process .* remove file\.json\.new/)
  assert.equal(readFileSync(path, 'utf8'), content)
})

test('usage errors - what this machine lacks is exit code 1', async t => {
  const { port: taken } = await serveHttp(t)
  for (const [words, ...names] of [
    [`-p ${taken}`, `${taken}`, '--port 0'],
    [`-p 0 --staging-port ${taken}`, `${taken}`, '--staging-port 0'],
    ['-p 0 --metrics=192.0.2.1', '192.0.2.1', '--metrics=127.0.0.1:9464'],
    ['-p 0 --store /nowhere/pets.json', '/nowhere'],
    ['-p 0 --store postgres://me:s3cret@127.0.0.1:1/d', '127.0.0.1:1'],
    // As providers write it.
    [
      '-p 0 --store postgres://me:s3cret@127.0.0.1:1/d?channel_binding=require&connect_timeout=10&target_session_attrs=read-write&keepalives_idle=9',
      'nothing listens there',
    ],
    ['-p 0 --store postgres://h/d?sslmode=verify-full&sslrootcert=none.crt', 'none.crt'],
    [
      '-p 0 --rate-limit-store redis://me:s3cret@127.0.0.1:1 --require-rate-limit-store',
      '127.0.0.1:1',
    ],
    ['copy postgres://me:s3cret@127.0.0.1:1/my.json b.json', '127.0.0.1:1'],
  ] as readonly Row[]) {
    const { stderr } = await refused(words, { code: 1 })
    for (const name of names) assert.ok(stderr.includes(name), `${words}: ${stderr}`)
  }
})

test('usage errors - with --log json, warnings of Node and of packages are records as well', async () => {
  const words = '--log json -p 0 --store postgres://127.0.0.1:1/d?sslmode=require'
  const { stderr } = await runInThread(words.split(' '))
  const lines = stderr.trimEnd().split('\n')
  const records = lines.map(line => JSON.parse(line))
  assert.deepEqual(
    records.map(({ event, level }) => [event, level]),
    [
      ['starting', 30],
      ['warning', 40],
      ['failed', 60],
    ],
  )
})

/** Runs a command that refuses its words or its input. */
async function refused(
  words: string | readonly string[],
  { code = 2, environment = {} }: { code?: number; environment?: NodeJS.ProcessEnv } = {},
) {
  const given = typeof words === 'string' ? words.split(' ').filter(word => word !== '') : words
  const { DATABASE_URL: _, REDIS_URL: __, ...others } = process.env
  const ended = await runInThread(given, { ...others, ...environment })
  assert.equal(ended.code, code, `${given.join(' ')}: ${ended.stderr}`)
  // Before its first request, verify says what it is about to do.
  if (given[0] !== 'verify') assert.equal(ended.stdout, '')
  assert.match(ended.stderr, /^animal-adoption-store: \P{Cc}+\n$/u)
  assert.doesNotMatch(ended.stdout + ended.stderr, /s3cret/)
  return ended
}

async function file(t: TestContext, content: string | Uint8Array): Promise<string> {
  const path = join(temporaryFolder(t), 'file.json')
  await writeFile(path, content)
  return path
}
