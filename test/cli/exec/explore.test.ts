import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { borrowedCommand } from '../../support/borrowed-command.js'
import { runInThread, scriptCommand } from '../../support/command.js'
import { assertJUnit } from '../../support/junit.js'
import { MAIN } from '../../support/paths.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const { NODE_TEST_CONTEXT: _, ...ENVIRONMENT } = process.env

/** Lists once, and creates an animal in at most two attempts; a failure to create is its exit code. */
const CLIENT = `
  const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
  const send = async init => {
    const response = await fetch(url + '/pets', init)
    await response.text()
    return response.ok
  }
  const create = () =>
    send({ method: 'POST', headers, body: '{"name":"Ada","categoryId":1}' }).catch(() => false)
  await send({ headers }).catch(() => {})
`

const UNTRIED =
  'Not tried: lists with animals and 64-bit integers (add --seed edge, and let a test compare categoryId: nothing else sees what a client reads).'

/** On a busy machine, a run takes long enough for `exec` to print its progress. */
function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^\d+ of at most .*\n/gm, '')
}

test('exec --explore - the line to repeat a failure has the options that the runs had', async t => {
  const options = ['--strict', '--allow', 'name.unknown', '--idempotency', '1h', '--pagination']
  const search = ['--faults', 'reset', '--jobs', '2', '--report', folder(t)('a.json')]
  const { stderr } = await explore([...options, ...search], 'process.exit(1)')
  assert.match(
    stderr,
    /\nTo repeat: npx animal-adoption-store exec --strict=findings --allow=name\.unknown --idempotency=1h --pagination -- /,
  )
})

test('exec --explore - runs the command once for each schedule, and is red when one fails', async t => {
  const files = folder(t)
  const script = `${CLIENT} if (!(await create())) { console.log('not created'); process.exit(7) }`
  const { code, stdout, stderr } = await explore(
    ['--faults', 'reset,status:503', '--report', files('a.json'), '--junit', files('a.xml')],
    script,
    scriptCommand,
  )
  assert.deepEqual([code, stdout], [1, ''])
  const lines = withoutProgress(stderr).trimEnd().split('\n')
  const untried = lines.pop() ?? ''
  const repeat = lines.splice(5, lines.findIndex(line => line.startsWith('Passed')) - 5)
  assert.deepEqual(lines, [
    'Without a fault: 2 requests, listPets#1 createPet#1.',
    'Verdict: no violations in 2 requests.',
    UNTRIED,
    'Failed: createPet#1=reset, createPet#1=status:503: the command exited with 7',
    '  | not created',
    'Passed although a response was cut off, malformed or an error, and not asked for again: listPets#1=status:503',
    'Explored every schedule of at most 1 fault: 5 runs, 0 pruned, 2 failures.',
    'If createPet is only the set-up of your test, give no faults to it: --only listPets',
  ])
  assert.match(untried, /^Not tried: delay, .*; add them: --faults reset,status:503,delay:31s,/)
  assert.match(
    repeat.join(),
    /^To repeat: npx animal-adoption-store exec --schedule 'createPet#1=reset' -- /,
  )

  const { failures, runs, notes } = JSON.parse(await readFile(files('a.json'), 'utf8'))
  assert.equal(runs, 5)
  assert.deepEqual(notes, [{ schedule: 'listPets#1=status:503', note: 'listPets#1 was an error' }])
  const [{ requests, report, repeat: again, ...failure }] = failures
  assert.equal(`To repeat: ${again}`, repeat.join('\n'))
  assert.deepEqual(failure, {
    schedule: 'createPet#1=reset',
    reason: 'the command exited with 7',
    exitCode: 7,
    output: 'not created\n',
  })
  assert.deepEqual([requests.length, requests[1].fault, report.requestCount], [2, 'reset', 2])
  const junit = await readFile(files('a.xml'), 'utf8')
  assertJUnit(junit)
  assert.match(
    junit,
    /<testsuite name="animal-adoption-store explore" tests="6" failures="2" errors="0" time="\d+\.\d{3}" skipped="0">/,
  )
  assert.match(
    junit,
    /name="createPet#1=reset" time="[^"]+"><failure message="the command exited with 7">not created/,
  )
  assert.match(junit, /name="without a fault" time="[^"]+"\/>/)
})

test('exec --explore - shows the evidence of the verdict and its fix, with many jobs too', async () => {
  const script = `${CLIENT} if (!(await create())) { await create(); process.exit(7) }`
  const flags = ['--faults', 'reset,status:500-after,truncate', '--jobs', '12']
  const { stderr } = await explore(flags, script)
  assert.doesNotMatch(stderr, /Warning/)
  assert.match(
    stderr,
    /\nFailed: createPet#1=reset, createPet#1=status:500-after, createPet#1=truncate: the command exited with 7\n {2}create\.repeated \(likely\) [^\n]*\n {4}seen: [^\n]*\n {4}fix: Send each create with an Idempotency-Key[^\n]* --idempotency [^\n]*\n {4}request 2: POST [\s\S]*\nTo repeat: npx /,
  )
})

test('exec --explore - failures with one cause are one entry, wherever they come', async t => {
  const file = folder(t)('a.json')
  const script = `${CLIENT}
    let failure
    for (let n = 1; n <= 12 && !failure; n++) {
      const isListed = await send({ headers }).catch(() => true)
      if (!isListed) failure = '\x1b[31mlost\x1b[0m after 0.0' + n + ' s, 127.0.0.1:' + (40_000 + n)
    }
    if (!failure && !(await create())) {
      failure = (await (await fetch(url + '/pets', { headers })).json()).length + ' Adas'
    }
    if (failure) console.log(failure)
    process.exit(failure ? 7 : 0)`
  const { stderr } = await explore(['--faults', 'reset,status:503', '--report', file], script)
  const lists = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(n => `listPets#${n}=status:503`).join(', ')
  assert.deepEqual(stderr.match(/^(Failed: .*| {2}\| .*)$/gm), [
    `Failed: ${lists} and 2 more: the command exited with 7`,
    '  | lost after 0.01 s, 127.0.0.1:40001',
    'Failed: createPet#1=reset: the command exited with 7',
    '  | 1 Adas',
    'Failed: createPet#1=status:503: the command exited with 7',
    '  | 0 Adas',
  ])
  assert.doesNotMatch(await readFile(file, 'utf8'), /\\u001b/)
})

test('exec --explore - shows the lines of the client in a traceback, not those of libraries', async () => {
  const frame = (path: string, code: string) =>
    `  File "${path}", line 7, in send\n    ${code}\n    ^^^^\n`
  const library = '/usr/lib/python3.11/urllib/request.py'
  const traceback = `Traceback (most recent call last):
${frame('/home/me/test_pets.py', 'client.add()')}${frame('/home/me/client.py', 'urlopen(request)')}${frame(library, 'return opener.open()').repeat(12)}${frame('/home/me/venv/site-packages/requests/api.py', 'session.send()')}ConnectionResetError: [Errno 104]\n`
  const stack = `TypeError: fetch failed
    at node:internal/deps/undici/undici:13185:13
    at async send (file:///home/me/node_modules/ky/index.js:3:4)
    at async add (file:///home/me/client.mjs:5:6)\n`
  const script = `${CLIENT} if (!(await create())) {
    process.stdout.write(${JSON.stringify(traceback + stack)})
    process.exit(7)
  }`
  const { stderr } = await explore(['--faults', 'reset'], script)
  const shown = stderr.split('\n').filter(line => line.startsWith('  | '))
  assert.deepEqual(
    shown.map(line => line.slice(4).trim()),
    [
      'Traceback (most recent call last):',
      'File "/home/me/test_pets.py", line 7, in send',
      'client.add()',
      '^^^^',
      'File "/home/me/client.py", line 7, in send',
      'urlopen(request)',
      '^^^^',
      'ConnectionResetError: [Errno 104]',
      'TypeError: fetch failed',
      'at async add (file:///home/me/client.mjs:5:6)',
    ],
  )
})

test('exec --explore - is green when every schedule has passed, also with two faults and several jobs', async () => {
  const script = `${CLIENT} if (!(await create()) && !(await create())) await create()`
  const summaries = []
  for (const jobs of ['1', '3']) {
    const { code, stderr } = await explore(
      ['--faults', 'status:503', '--depth', '2', '--jobs', jobs],
      script,
    )
    assert.equal(code, 0, stderr)
    summaries.push(withoutProgress(stderr).replaceAll(/^Not tried: .*\n/gm, ''))
  }
  assert.equal(
    summaries[0],
    'Without a fault: 2 requests, listPets#1 createPet#1.\nVerdict: no violations in 2 requests.\nPassed although a response was cut off, malformed or an error, and not asked for again: listPets#1=status:503\nExplored every schedule of at most 2 faults: 5 runs, 0 pruned, 0 failures.\n',
  )
  assert.equal(summaries[1], summaries[0])
})

test('exec --explore - is red when nothing was explored, and says why', async () => {
  const cases: [flags: string[], script: string, problem: string][] = [
    [[], 'process.exit(3)', 'without a fault, the command exited with 3.'],
    [
      ['--strict'],
      CLIENT.replaceAll('/pets', '/pets?page=2'),
      'without a fault, the run already breaks name.unknown. Repair it, or add --allow name.unknown.',
    ],
    [[], '', 'the command sent no request. Does it use ADOPTION_STORE_BASE_URL?'],
    [['--schedules', '1'], CLIENT, 'no fault was tried. See --faults and --schedules.'],
    [['--only', 'getPet'], CLIENT, 'no fault was tried. See --faults and --schedules.'],
  ]
  for (const [flags, script, problem] of cases) {
    const { code, stderr } = await explore(flags, script)
    assert.equal(code, 1)
    assert.ok(stderr.includes(`Nothing was explored: ${problem}\n`), stderr)
  }
})

test('exec --explore - names schedules that a command does not reach again', async () => {
  // Sends its request in its first run only.
  const script = `
    await fetch(process.env.ADOPTION_STORE_BASE_URL + (globalThis.hasRun ? '/elsewhere' : '/pets'), { headers: { authorization: 'Bearer ' + process.env.ADOPTION_STORE_API_KEY } })
    globalThis.hasRun = true`
  const { code, stderr } = await explore(['--faults', 'truncate,reset'], script)
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^Nothing was explored: no run sent the requests of an earlier one again\.$/m,
  )
  assert.match(
    stderr,
    /^Not tried, as the command does not always send the same requests: listPets#1=truncate; listPets#1=reset$/m,
  )
})

test('exec --explore - ends a command that takes too long, with all it has started', async () => {
  const script = `
    import { spawn } from 'node:child_process'
    const list = 'fetch(process.env.ADOPTION_STORE_BASE_URL + "/pets", { headers: { authorization: "Bearer " + process.env.ADOPTION_STORE_API_KEY } }).then(() => process.exit(), () => process.exit(1))'
    spawn(process.execPath, ['-e', list + '; setInterval(() => {}, 1000)'], { stdio: 'inherit' }).on('exit', code => process.exit(code))`
  const hanging = (seconds: number) =>
    explore(['--faults', 'hang', '--timeout', `${seconds}s`], script, scriptCommand)
  let seconds = 5
  let run = await hanging(seconds)
  if (!/#1 hangs/.test(run.stderr)) {
    // On a busy machine, the command itself takes longer.
    seconds = 60
    run = await hanging(seconds)
  }
  assert.equal(run.code, 1)
  assert.match(
    run.stderr,
    new RegExp(
      `^Failed: listPets#1=hang: the command took longer than ${seconds} s, as listPets#1 hangs and the call has no signal to end it$`,
      'm',
    ),
  )
})

test('exec --explore - does not wait for a process in a session of its own that holds the output', async t => {
  const { port } = await watchtower(t)
  const files = folder(t)
  // It ends with this test.
  const holder = `require('node:net').connect(${port}).resume().on('close', () => process.exit())`
  const script = `
    import { spawn } from 'node:child_process'
    spawn(process.execPath, ['-e', ${JSON.stringify(holder)}], { detached: true, stdio: 'inherit' })
    ${CLIENT}
    const isCreated = await create()
    process.stdout.write('x'.repeat(50_000) + 'end')
    process.exit(isCreated ? 0 : 7)`
  const flags = ['--faults', 'reset{"operation":"createPet"}', '--report', files('a.json')]
  const { code, stderr } = await explore(flags, script, scriptCommand)
  assert.equal(code, 1)
  assert.match(stderr, /^Failed: createPet#1=reset: the command exited with 7$/m)
  const { failures } = JSON.parse(await readFile(files('a.json'), 'utf8'))
  assert.equal(failures[0].output, `${'x'.repeat(50_000)}end`)
})

test('exec --explore - with --strict, a broken rule is a failure', async () => {
  const early = `
    const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
    const list = () => fetch(url + '/pets', { headers })
    // A note of this run is no reason.
    await fetch(url + '/pets', { method: 'POST', headers, body: '{"name":"Ada","categoryId":9007199254740992}' })
    if ((await list()).status === 429) await list()`
  assert.equal((await explore(['--faults', 'status:429'], early)).code, 0)
  const { code, stderr } = await explore(['--faults', 'status:429', '--strict'], early)
  assert.equal(code, 1)
  assert.match(stderr, /^Failed: listPets#1=status:429: the verdict: retry-after\.early$/m)
})

test('exec --explore - a fault of the schedule may take the place of one that the command arms', async () => {
  const script = `
    const { ADOPTION_STORE_CONTROL_URL: control } = process.env
    const armed = { method: 'POST', headers: { 'content-type': 'application/json' } }
    await fetch(control + '/faults', { ...armed, body: '{"kind":"status","status":503}' })
    ${CLIENT}`
  const { code, stderr } = await explore(['--strict=notes', '--faults', 'status:503'], script)
  assert.equal(code, 0, stderr)
})

test('exec --explore - a signal ends the command and the exploration', async t => {
  const { port, next } = await watchtower(t)
  const script = `
    import { connect } from 'node:net'
    connect(${port}).write('runs')
    setInterval(() => {}, 1_000)`
  const words = ['exec', '--explore', '--', ...scriptCommand(script)]
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const stderr = text(child.stderr)
  const exit = once(child, 'exit')
  const early = exit.then(([code]) => assert.fail(`ended with ${code}`))
  const command = await Promise.race([next, early])
  early.catch(() => {})
  child.kill('SIGTERM')
  const [code] = await exit
  assert.deepEqual([code, await stderr], [143, ''])
  // The connection ends with the process of the command.
  if (!command.destroyed) await once(command, 'close')
})

test('exec --schedule - runs the command once with those faults', async () => {
  const script = `${CLIENT} if (!(await create())) process.exit(7)`
  const { code, stderr } = await scheduled('createPet#1=status:503-after', script)
  assert.equal(code, 7)
  assert.match(stderr, /^Verdict: no violations in 2 requests\.$/m)
  const missed = await scheduled('createPet#2=reset', script)
  assert.equal(missed.code, 1)
  assert.match(
    missed.stderr,
    /^--schedule: createPet#2 never came; the command sent listPets#1, createPet#1$/m,
  )
})

test('exec --schedule - fails for a fault that had no effect, and says what its request got', async () => {
  const script = `
    const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
    await fetch(url + '/pets')
    await fetch(url + '/pets', { method: 'POST', headers, body: '{"name":"Ada","categoryId":1}' }).catch(() => {})`
  const reset = 'createPet#1=reset'
  const refused = 'listPets#1 came, but got 401: its fault had no effect'
  const missing = 'getPet#2 never came; the command sent listPets#1, createPet#1'
  const cases: [schedule: string, code: number, lines: string[]][] = [
    [reset, 0, []],
    [`listPets#1=delay:1ms ${reset}`, 0, []],
    [`listPets#1=status:503 ${reset}`, 1, [refused]],
    [`listPets#1=status:503-after getPet#2=hang`, 1, [missing, refused]],
  ]
  for (const [schedule, code, lines] of cases) {
    const ended = await scheduled(schedule, script)
    const [, ...told] = ended.stderr.trimEnd().split('\n--schedule: ')
    assert.deepEqual([ended.code, told], [code, lines], ended.stderr)
  }
})

function explore(flags: readonly string[], script: string, commandOf = borrowedCommand) {
  return runInThread(['exec', '--explore', ...flags, '--', ...commandOf(script)], ENVIRONMENT)
}

function scheduled(schedule: string, script: string) {
  const words = ['exec', '--schedule', schedule, '--', ...borrowedCommand(script)]
  return runInThread(words, ENVIRONMENT)
}

function folder(t: TestContext): (name: string) => string {
  const path = temporaryFolder(t)
  return name => join(path, name)
}

/** Learns of a process by its connection. */
async function watchtower(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket.on('error', () => {})))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const next = once(server, 'connection').then(([socket]: Socket[]) => {
    socket?.resume()
    return socket as Socket
  })
  return { port: (server.address() as AddressInfo).port, next }
}
