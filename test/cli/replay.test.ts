import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { borrowedCommand } from '../support/borrowed-command.js'
import { runCommand, runInThread } from '../support/command.js'
import { MAIN } from '../support/paths.js'

const CLIENT = `
  const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key, ADOPTION_STORE_CONTROL_URL: control } = process.env
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
  const create = name => fetch(url + '/pets', { method: 'POST', headers, body: JSON.stringify({ name, categoryId: 1 }) })
  const command = (path, body) => fetch(control + path, { method: 'POST', headers, body: JSON.stringify(body) });`
const RUN = `${CLIENT}
  await create('Ada')
  await command('/faults', { kind: 'status', status: 503 })
  await create('Bo')
  await command('/clock', { advance: '61s' })
  await create('Cy')`
const CLOCK = ['--clock', '2030-01-01T00:00:00Z']

test('replay - every step comes out as recorded', async () => {
  const file = await recordedRun()
  const { code, stdout, stderr } = await runInThread(['replay', file, '--check'])
  assert.deepEqual([code, stdout, stderr], [0, `${file}: 8 steps, all as recorded.\n`, ''])
})

test('replay - opens the console after the step of --until, with its requests and animals', async t => {
  const file = await recordedRun()
  const child = spawn(process.execPath, [MAIN, 'replay', file, '--until', '5', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (line.startsWith('Console')) break
  }
  assert.deepEqual(lines.slice(0, 2), [
    `${file}: 5 steps, all as recorded.`,
    'After step 5, the response to request 2, with the clock at 2030-01-01T00:00:00.000Z.',
  ])
  const [, origin] = /^Console {2}(http:\S+)\/$/.exec(lines[2] ?? '') ?? []
  const page = await fetch(`${origin}/`, { headers: { accept: 'text/html' } })
  assert.match(await page.text(), /<title>/)
  const report = await fetch(`${origin}/_control/requests`)
  const { requests } = (await report.json()) as { requests: readonly { status: number }[] }
  assert.deepEqual(
    requests.map(({ status }) => status),
    [201, 503],
  )
  const headers = { authorization: 'Bearer demo-free' }
  const pets = await fetch(`${origin}/v1/pets`, { headers })
  assert.deepEqual(
    ((await pets.json()) as readonly { name: string }[]).map(({ name }) => name),
    ['Ada'],
  )
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

test('replay - a step that comes out otherwise is named, and no console opens', async t => {
  const file = join(await temporary(t), 'changed.json')
  const changed = (await readFile(await recordedRun(), 'utf8')).replace(
    '"status":201',
    '"status":202',
  )
  await writeFile(file, changed)
  const { code, stdout, stderr } = await runInThread(['replay', file])
  assert.deepEqual([code, stdout], [1, ''])
  assert.equal(
    stderr,
    `animal-adoption-store: ${file}: step 2 (the response to request 1) came out otherwise: status 201 instead of 202; replay ${file} --until 1 opens the state before it\n`,
  )
})

test('replay - --against sends the requests to a server, and names the first difference', async () => {
  const file = await recordedRun()
  await using same = createTestDouble({ cors: true })
  const server = await same.listen()
  const url = `${server.origin}/v1`
  const equal = await runInThread(['replay', file, '--against', url])
  assert.deepEqual(
    [equal.code, equal.stdout],
    [
      0,
      `${file}: 2 requests sent, all answered as recorded; 1 cannot be compared and was left out.\n`,
    ],
  )
  const { code, stderr } = await runInThread(['replay', file, '--against', url])
  assert.equal(code, 1)
  assert.match(
    stderr,
    /: step 1: POST \/v1\/pets: header location is "\/v1\/pets\/3" instead of "\/v1\/pets\/1"\n$/,
  )
  const none = await runInThread(['replay', file, '--against', 'http://127.0.0.1:1/v1'])
  assert.equal(none.code, 1)
  assert.match(none.stderr, /^animal-adoption-store: 127\.0\.0\.1:1 cannot be reached: [^\n]+\n$/)
})

test('replay - --against fails where a request never ends, and keeps no process alive', async t => {
  const file = await recordedRun()
  // As in Node 20 where a server closes the connection at once. 30 s are over immediately.
  const stuck = join(await temporary(t), 'stuck.cjs')
  await writeFile(
    stuck,
    `globalThis.fetch = () => new Promise(() => {})
    const { setTimeout } = globalThis
    globalThis.setTimeout = (call, ms) => setTimeout(call, ms === 30_000 ? 0 : ms)`,
  )
  const env = { ...process.env, NODE_OPTIONS: `--require ${stuck}` }
  const words = ['replay', file, '--against', 'http://127.0.0.1:4280/v1']
  const { code, stdout, stderr } = await runCommand(words, env)
  assert.deepEqual([code, stdout], [1, ''])
  assert.equal(
    stderr,
    'animal-adoption-store: 127.0.0.1:4280 cannot be reached: no complete response within 30 s\n',
  )
})

test('replay - --against takes the key of the server from the environment', async t => {
  const keys = { 'k3y-of-the-recording': { id: 'ci', plan: 'pro' } }
  const folder = await temporary(t)
  await writeFile(join(folder, 'keys.json'), JSON.stringify(keys))
  const file = await recorded(
    t,
    `${CLIENT} await create('Ada')`,
    '--keys',
    join(folder, 'keys.json'),
  )
  await using double = createTestDouble({
    apiKeys: { 'k3y-of-the-server': { id: 'x', plan: 'pro' } },
  })
  const { url } = await double.listen()
  const missing = await runInThread(['replay', file, '--against', url])
  assert.deepEqual([missing.code, missing.stdout], [2, ''])
  assert.match(missing.stderr, /add --key-env <name> for the key of the server\n$/)
  const env = { ...process.env, SERVER_KEY: 'k3y-of-the-server' }
  const sent = await runInThread(['replay', file, '--against', url, '--key-env', 'SERVER_KEY'], env)
  assert.deepEqual([sent.code, sent.stderr], [0, ''])
  assert.equal(double.requests()[0]?.key, 'x')
})

test('replay - --against refuses an address and a key that requests cannot have, without their secrets', async () => {
  const file = await recordedRun()
  const address =
    '--against takes the base URL of a server, such as http://127.0.0.1:4280/v1, without user name, query and fragment'
  for (const url of [
    'http://u:sekret1@127.0.0.1:1/v1',
    'http://127.0.0.1:1/v1?key=sekret1',
    'http://127.0.0.1:1/v1#sekret1',
  ]) {
    const { code, stdout, stderr } = await runInThread(['replay', file, '--against', url])
    assert.deepEqual([code, stdout, stderr], [2, '', `animal-adoption-store: ${address}\n`])
  }
  const words = ['replay', file, '--against', 'http://127.0.0.1:1/v1', '--key-env', 'SERVER_KEY']
  for (const key of ['sekret€1', 'sekret1\n', 'sekret 1']) {
    const { code, stdout, stderr } = await runInThread(words, { ...process.env, SERVER_KEY: key })
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(
      stderr,
      'animal-adoption-store: --key-env names SERVER_KEY, whose key has to be printable ASCII without spaces\n',
    )
  }
})

test('replay - --against fails where nothing is compared, and says what is not', async t => {
  const file = await recordedRun()
  const without = await recorded(t, '')
  const fault = ['--schedule', 'createPet#1=malformed']
  const malformed = await recorded(t, `${CLIENT} await create('Ada'); await create('Bo')`, ...fault)
  await using double = createTestDouble({ cors: true })
  const { url } = await double.listen()
  const dead = 'http://127.0.0.1:1/v1'
  const cases: [words: string[], what: string][] = [
    [[without, '--against', dead], 'it has no request'],
    [[file, '--until', '0', '--against', dead], 'it has no request up to step 0'],
    [[file, '--until', '1', '--against', dead], '1 request up to step 1 cannot be'],
    [[malformed, '--until', '2', '--against', url], '1 request up to step 2 cannot be'],
  ]
  for (const [words, what] of cases) {
    const { code, stdout, stderr } = await runInThread(['replay', ...words])
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, `animal-adoption-store: ${words[0]}: nothing was compared: ${what}\n`)
  }
  assert.equal(double.requests().length, 1)
  double.reset()
  const { code, stdout } = await runInThread(['replay', malformed, '--against', url])
  assert.deepEqual(
    [code, stdout],
    [0, `${malformed}: 2 requests sent, 1 answered as recorded, 1 not compared.\n`],
  )
})

test('replay - --against sends a request that has run before its fault, and does not compare it', async t => {
  const script = `${CLIENT} await create('Ada'); await create('Bo'); await fetch(url + '/pets', { headers })`
  const arm = `${CLIENT} await command('/faults', { kind: 'status', status: 503, when: 'after' });`
  const schedule = ['--schedule', 'createPet#1=status:503-after']
  const planned = await recorded(t, script, ...schedule)
  const armed = await recorded(t, script.replace(CLIENT, arm))
  // As it was written when an answer did not say whether its request had run.
  const older = join(await temporary(t), 'older.json')
  const text = await readFile(planned, 'utf8')
  assert.ok(text.includes('"ran":true,'))
  await writeFile(older, text.replace('"ran":true,', ''))
  for (const file of [planned, armed, older]) {
    assert.equal((await runInThread(['replay', file, '--check'])).code, 0)
    await using double = createTestDouble({ cors: true })
    const { url } = await double.listen()
    const equal = await runInThread(['replay', file, '--against', url])
    assert.deepEqual(
      [equal.code, equal.stdout, equal.stderr],
      [0, `${file}: 3 requests sent, 2 answered as recorded, 1 not compared.\n`, ''],
    )
    const names = (await double.pets.listPets()).map(({ name }) => name)
    assert.deepEqual(names, ['Ada', 'Bo'])
    const again = await runInThread(['replay', file, '--against', url])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /header location is "\/v1\/pets\/4" instead of "\/v1\/pets\/2"\n$/)
  }
  const limited = await recorded(t, script, '--schedule', 'createPet#1=status:503')
  await using double = createTestDouble({ cors: true })
  const { url } = await double.listen()
  const left = await runInThread(['replay', limited, '--against', url])
  assert.deepEqual([left.code, (await double.pets.listPets()).length], [0, 1])
})

test('replay, diff - without a step, nothing is compared, and --check and diff fail', async t => {
  const file = await recordedRun()
  const [without, other] = [await recorded(t, ''), await recorded(t, '')]
  const cases: [words: string[], what: string][] = [
    [['replay', without, '--check'], `${without}: nothing was compared: it has no step`],
    [
      ['replay', file, '--until', '0', '--check'],
      `${file}: nothing was compared: it has no step up to step 0`,
    ],
    [['diff', without, other], 'nothing was compared: neither recording has a step'],
  ]
  for (const [words, what] of cases) {
    const { code, stdout, stderr } = await runInThread(words)
    assert.deepEqual([code, stdout, stderr], [1, '', `animal-adoption-store: ${what}\n`])
  }
  const clock = await recorded(t, `${CLIENT} await command('/clock', { advance: '1s' })`)
  const checked = await runInThread(['replay', clock, '--check'])
  assert.deepEqual([checked.code, checked.stdout], [0, `${clock}: 1 step, all as recorded.\n`])
})

test('replay - repeats the faults of a schedule', async t => {
  const flags = ['--schedule', 'createPet#1=status:503-after,createPet#2=delay:2s']
  const clock = `await command('/clock', { auto: true });`
  const file = await recorded(
    t,
    `${CLIENT} ${clock} await create('Ada'); await create('Bo')`,
    ...flags,
  )
  assert.match(await readFile(file, 'utf8'), /"planned":\{"fault":\{"kind":"status"/)
  const { code, stdout, stderr } = await runInThread(['replay', file, '--check'])
  assert.deepEqual([code, stdout, stderr], [0, `${file}: 7 steps, all as recorded.\n`, ''])
})

test('diff - names the first step that differs', async t => {
  const good = await recordedRun()
  const again = await recorded(t, RUN)
  const same = await runInThread(['diff', good, again])
  assert.deepEqual([same.code, same.stdout], [0, 'No step differs: 8 in both recordings.\n'])
  const bad = await recorded(t, RUN.replace("create('Bo')", "create('Bob')"))
  const other = await runInThread(['diff', good, bad])
  assert.equal(other.code, 1)
  assert.equal(
    other.stdout,
    `Step 4 differs, request 2, POST /v1/pets: body "{\\"name\\":\\"Bob\\",\\"categoryId\\":1}" instead of "{\\"name\\":\\"Bo\\",\\"categoryId\\":1}".\n`,
  )
  const shorter = await recorded(t, RUN.replace("await create('Cy')", ''))
  const ended = await runInThread(['diff', good, shorter])
  assert.equal(
    ended.stdout,
    'Step 7 differs, request 3, POST /v1/pets: the second recording ends before it.\n',
  )
})

test('diff - the times of running clocks do not count', async t => {
  const [one, other] = [await recordedNow(t, RUN), await recordedNow(t, RUN)]
  const { code, stdout } = await runInThread(['diff', one, other])
  assert.deepEqual([code, stdout], [0, 'No step differs: 8 in both recordings.\n'])
  const frozen = await runInThread(['diff', one, await recordedRun()])
  assert.equal(frozen.code, 1)
  assert.match(
    frozen.stdout,
    /^The recordings begin with one clock that runs and one that stands still\.\n$/,
  )
})

test('diff - a response that a fault has lost differs, also with running clocks', async t => {
  const script = `${CLIENT} await create('Ada').then(response => response.text()).catch(() => {})`
  const good = await recordedNow(t, script)
  const step2 = 'Step 2 differs, the response to request 1'
  for (const fault of ['reset', 'truncate']) {
    const bad = await recordedNow(t, script, '--schedule', `createPet#1=${fault}`)
    const lost = await runInThread(['diff', good, bad])
    assert.deepEqual([lost.code, lost.stdout], [1, `${step2}: fault ${fault} instead of none.\n`])
    const back = await runInThread(['diff', bad, good])
    assert.equal(back.stdout, `${step2}: fault none instead of ${fault}.\n`)
    assert.equal((await runInThread(['diff', bad, bad])).code, 0)
  }
  const status = await recordedNow(t, script, '--schedule', 'createPet#1=status:503')
  const refused = await runInThread(['diff', good, status])
  assert.equal(refused.stdout, `${step2}: status 503 instead of 201.\n`)
})

test('diff - faults that were planned differ where their effects do not', async t => {
  const script = `${CLIENT} await create('Ada')`
  const [one, again, other] = [
    await recordedNow(t, script, '--schedule', 'createPet#1=delay:1ms'),
    await recordedNow(t, script, '--schedule', 'createPet#1=delay:1ms'),
    await recordedNow(t, script, '--schedule', 'createPet#1=delay:2ms'),
  ]
  const same = await runInThread(['diff', one, again])
  assert.deepEqual([same.code, same.stdout], [0, 'No step differs: 3 in both recordings.\n'])
  const { code, stdout } = await runInThread(['diff', one, other])
  assert.deepEqual(
    [code, stdout],
    [
      1,
      'Step 1 differs, request 1, POST /v1/pets: planned {"delay":{"kind":"delay","ms":2}} instead of {"delay":{"kind":"delay","ms":1}}.\n',
    ],
  )
})

test('replay - a port that is taken is one line with the fix', async t => {
  const file = await recordedRun()
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { code, stderr } = await runInThread(['replay', file, '--port', `${port}`])
  assert.equal(code, 1)
  assert.equal(
    stderr,
    `animal-adoption-store: port ${port} is taken; use --port 0 to pick a free one\n`,
  )
})

test('replay, diff - unfit words and files are refused in one line', async t => {
  const file = await recordedRun()
  const broken = join(await temporary(t), 'broken.json')
  await writeFile(broken, (await readFile(file, 'utf8')).slice(0, 900))
  const newer = join(await temporary(t), 'newer.json')
  await writeFile(newer, '{"format":"animal-adoption-store recording","version":2}')
  const cases: [words: string[], line: RegExp][] = [
    [['replay'], /^replay takes one file of exec --record: replay <run\.json>$/],
    [['replay', file, file], /^replay takes one file/],
    [
      ['replay', file, '--until', '9'],
      /^--until takes a step from 0 to 8, the last one of .*, got '9'$/,
    ],
    [['replay', file, '--until', 'x'], /^--until takes a step/],
    [['replay', file, '--port', '99999'], /^--port takes a whole number from 0 to 65535/],
    [['replay', file, '--against', 'localhost'], /^--against takes the base URL of a server/],
    [
      ['replay', file, '--check', '--port', '5'],
      /^--port cannot be combined with --check, which opens no console$/,
    ],
    [
      ['replay', file, '--port', '5', '--against', 'http://127.0.0.1:1/v1'],
      /^--port cannot be combined with --against, which opens no console$/,
    ],
    [['replay', file, '--key-env', 'X'], /^--key-env needs --against <base-url>$/],
    [
      ['replay', file, '--against', 'http://127.0.0.1:1/v1', '--key-env', 'sk-live-sekret1'],
      /^--key-env takes the name of an environment variable, such as ADOPTION_KEY; the one given is not set$/,
    ],
    [
      ['replay', file, '--against', 'http://127.0.0.1:1/v1', '--key-env', 'NOT_SET'],
      /^--key-env names NOT_SET, which is not set$/,
    ],
    [['replay', 'none.json'], /^none\.json does not exist$/],
    [['replay', tmpdir()], /is a folder; name a file in it$/],
    [['replay', broken], /broken\.json is damaged: it is not complete JSON$/],
    [
      ['replay', newer],
      /newer\.json has version 2 of the format, and this program reads version 1; /,
    ],
    [['replay', fileURLToPath(import.meta.url)], /is damaged|is not a recording/],
    [['diff', file], /^diff takes two files of exec --record/],
    [['diff', file, broken], /broken\.json is damaged/],
    [['serve', '--record', 'x.json'], /^--record works with exec only/],
    [
      ['exec', '--explore', '--record', 'x.json', '--', 'true'],
      /^--explore cannot be combined with --record; repeat one run with --schedule and add it there$/,
    ],
    [
      ['--quiet', 'replay', file],
      /^replay comes before its options: replay <run\.json> \[options\]$/,
    ],
  ]
  for (const [words, line] of cases) {
    const { code, stdout, stderr } = await runInThread(words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    const [, message = ''] = /^animal-adoption-store: ([^\n]*)\n$/.exec(stderr) ?? []
    assert.match(message, line)
  }
})

test('replay, diff - a file that is a pipe or a device is refused, unless a shell passes it', async t => {
  if (process.platform === 'win32') return t.skip('no pipes with names')
  const file = await recordedRun()
  const pipe = join(await temporary(t), 'run.json')
  spawnSync('mkfifo', [pipe])
  // In processes with a time limit: what waits for a pipe cannot be ended otherwise.
  const run = (command: string, ...words: readonly string[]) =>
    spawnSync(command, words, { encoding: 'utf8', timeout: 20_000 })
  for (const path of [pipe, '/dev/zero']) {
    for (const words of [
      ['replay', path, '--check'],
      ['diff', path, file],
      ['diff', file, path],
    ]) {
      const { status, stdout, stderr } = run(process.execPath, MAIN, ...words)
      assert.deepEqual([status, stdout], [2, ''], words.join(' '))
      assert.equal(stderr, `animal-adoption-store: ${path} is not a regular file\n`)
    }
  }
  const passed = 'cat "$2" | "$0" "$1" replay /dev/stdin --check'
  const { stdout } = run('sh', '-c', passed, process.execPath, MAIN, file)
  assert.equal(stdout, '/dev/stdin: 8 steps, all as recorded.\n')
})

/** The recording of RUN, which every test reads and none changes. */
function recordedRun(): Promise<string> {
  common ??= recordedTo(commonFolder, RUN, ...CLOCK)
  return common
}

let common: Promise<string> | undefined
const commonFolder = mkdtempSync(join(tmpdir(), 'adoption-replay-'))
after(() => rm(commonFolder, { recursive: true, force: true }))

async function recorded(t: TestContext, script: string, ...flags: string[]): Promise<string> {
  return recordedNow(t, script, ...CLOCK, ...flags)
}

async function recordedNow(t: TestContext, script: string, ...flags: string[]): Promise<string> {
  return recordedTo(await temporary(t), script, ...flags)
}

async function recordedTo(folder: string, script: string, ...flags: string[]): Promise<string> {
  const file = join(folder, 'run.json')
  const { code, stderr } = await runInThread([
    'exec',
    '--record',
    file,
    ...flags,
    '--',
    ...borrowedCommand(script),
  ])
  assert.equal(code, 0, stderr)
  return file
}

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-replay-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}
