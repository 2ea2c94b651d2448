import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { parseCommandLine, readSettings } from '../../../adapters/cli/command-line.js'
import { main as execHere } from '../../../adapters/cli/exec/exec.js'
import type { ExecSettings } from '../../../adapters/cli/options.js'
import type { Har, Report } from '../../../adapters/test-double/index.js'
import { borrowedCommand } from '../../support/borrowed-command.js'
import { runCommand, runInThread, scriptCommand } from '../../support/command.js'
import { firstOutput } from '../../support/first-output.js'
import { assertJUnit } from '../../support/junit.js'
import { MAIN } from '../../support/paths.js'
import { served } from '../../support/served.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const GET = `const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key, ADOPTION_STORE_CONTROL_URL: control } = process.env
  const get = async path => (await fetch(url + path, { headers: { authorization: 'Bearer ' + key } })).status;`
const POST = `const post = (path, method = 'POST', body) =>
    fetch(control + path, { method, body, headers: { 'content-type': 'application/json' } });`

const EXACT =
  '64-bit integers (add --seed edge, and let a test compare categoryId: nothing else sees what a client reads)'
const UNTRIED = `Not tried: faults (add --explore), lists with animals and ${EXACT}.\n`

test('exec - the command gets a private store, and a verdict follows', async () => {
  const script = `${GET} console.log(await get('/pets'), (await (await fetch(control + '/clock')).json()).frozen)`
  const { code, stdout, stderr } = await execInProcess([], scriptCommand(script))
  assert.deepEqual(
    [code, stdout, stderr],
    [0, '200 false\n', `Verdict: no violations in 1 request.\n${UNTRIED}`],
  )
})

test('exec - starts empty, as do worlds, unless --seed is given', async t => {
  const folder = temporaryFolder(t)
  const seed = join(folder, 'seed.json')
  const animals = Array.from({ length: 21 }, () => ({ name: 'Ada', categoryId: 1 }))
  await writeFile(seed, JSON.stringify(animals))
  const script = `${GET} ${POST}
    const list = async (base, key) =>
      (await (await fetch(base + '/pets', { headers: { authorization: 'Bearer ' + key } })).json()).length
    const world = await (await post('/worlds')).json()
    const counts = [await list(url, key), await list(world.baseUrl, world.apiKeys.free)]
    process.exit(counts[0] === counts[1] ? 100 + counts[0] : 3)`
  for (const [flags, count] of [
    [[], 0],
    [['--seed', seed], 20],
    [['--seed', 'edge'], 7],
  ] as const) {
    assert.equal((await exec(flags, borrowedCommand(script))).code, 100 + count, `${flags}`)
  }
})

test('exec - returns the exit code of the command, or 1 with --strict for a broken rule', async () => {
  const bad = `${GET} await get('/pets/1')`
  assert.equal((await exec([], borrowedCommand('process.exit(7)'))).code, 7)
  assert.equal((await exec([], borrowedCommand(bad))).code, 0)
  const strict = await exec(['--strict'], borrowedCommand(bad))
  assert.equal(strict.code, 1)
  assert.match(
    strict.stderr,
    /deprecated\.called \(key demo-free, first at .*\n.*seen: .*\n.*fix: /,
  )
  assert.equal((await exec(['--strict'], borrowedCommand(`${GET} await get('/pets')`))).code, 0)
  assert.equal((await exec(['--strict'], borrowedCommand(`${bad}; process.exit(7)`))).code, 7)
})

test('exec - the verdict covers the time before a reset, and worlds', async () => {
  const scripts = [
    `await get('/pets/1'); await post('/reset')`,
    `const { id, baseUrl, apiKeys } = await (await post('/worlds')).json()
     await fetch(baseUrl + '/pets/1', { headers: { authorization: 'Bearer ' + apiKeys.free } })
     await post('/worlds/' + id, 'DELETE')`,
  ]
  for (const script of scripts) {
    const { code, stderr } = await exec(['--strict'], borrowedCommand(`${GET} ${POST} ${script}`))
    assert.match(stderr, /^Verdict: 1 finding in 1 request\.\n {2}deprecated\.called /, script)
    assert.equal(code, 1, script)
  }
})

test('exec - beyond loopback it has random keys, and the command gets the address to use', async () => {
  for (const [flags, host, demo] of [
    // Loopback, in a form that is not taken for it.
    [['--host', '127.1', '--advertise', 'localhost'], 'localhost', 401],
    [['--host', '127.0.0.1'], '127.0.0.1', 200],
  ] as const) {
    const script = `${GET} const demo = await fetch(url + '/pets', { headers: { authorization: 'Bearer demo-free' } })
      const seen = [new URL(url).hostname, new URL(control).host === new URL(url).host, demo.status, await get('/pets')]
      process.exit(seen.join() === '${host},true,${demo},200' ? 0 : 3)`
    assert.equal((await exec(flags, borrowedCommand(script))).code, 0, host)
  }
})

test('exec - runs npm, which is a script on Windows', async t => {
  const folder = temporaryFolder(t)
  const script = `import('node:http').then(({ get }) => get(process.env.ADOPTION_STORE_BASE_URL + '/pets', {
    headers: { authorization: 'Bearer ' + process.env.ADOPTION_STORE_API_KEY } }))`
  await writeFile(join(folder, 'client.cjs'), script)
  await writeFile(join(folder, 'package.json'), '{"scripts":{"test":"node client.cjs"}}')
  const { code, stderr } = await execInProcess(['--strict'], ['npm', '--prefix', folder, 'test'])
  assert.equal(code, 0, stderr)
})

test('exec - --allow forgives a rule, and lists it', async () => {
  const script = borrowedCommand(`${GET} await get('/pets/1'); await get('/pets?page=2')`)
  const both = ['--strict', '--allow', 'deprecated.called', '--allow=name.unknown']
  for (const [flags, expected] of [
    [both, 0],
    [['--strict', '--allow', 'deprecated.called,name.unknown'], 0],
    [['--strict', '--allow', 'deprecated.called'], 1],
  ] as const) {
    const { code, stderr } = await exec([...flags], script)
    assert.equal(code, expected)
    assert.match(
      stderr,
      /^Verdict: 2 findings in 2 requests\.\n {2}deprecated\.called \(allowed\) \(key /,
    )
  }
})

test('exec - forwards signals, and reports the one that ended the command', async () => {
  const script = `process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1e6); console.log('up')`
  const child = spawn(process.execPath, [MAIN, 'exec', '--', ...scriptCommand(script)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await firstOutput(child)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [9, null])
  assert.equal((await exec([], scriptCommand(`process.kill(process.pid, 'SIGKILL')`))).code, 137)
})

test('exec - writes the verdict as JSON and as JUnit XML', async t => {
  const folder = temporaryFolder(t)
  const [json, junit] = [join(folder, 'verdict.json'), join(folder, 'verdict.xml')]
  const files = ['--report', json, '--junit', junit]
  const bad = borrowedCommand(`${GET} await get('/pets/1'); await get('/pets?page=2')`)
  assert.equal((await exec([...files, '--allow', 'name.unknown'], bad)).code, 0)
  const { ok, findings } = JSON.parse(await readFile(json, 'utf8')) as Report
  assert.deepEqual([ok, ...findings.map(({ allowed }) => allowed)], [false, false, true])
  const xml = await readFile(junit, 'utf8')
  assertJUnit(xml)
  assert.match(xml, /<testsuite [^>]* tests="18" failures="1" errors="0" skipped="1">/)
  assert.match(
    xml,
    /name="deprecated\.called"><failure message="getPet, which is deprecated, was called">.*request 1: GET \/v1\/pets\/1/,
  )
  assert.match(xml, /name="name\.unknown"><skipped message="allowed: `page` was sent"\/>/)
  assert.match(xml, /name="requests: the API was called"\/>/)
  const good = borrowedCommand(`${GET} await get('/pets')`)
  assert.equal((await exec(['--junit', junit], good)).code, 0)
  assert.match(await readFile(junit, 'utf8'), / tests="18" failures="0" errors="0" skipped="0">/)
  assert.equal((await exec(['--junit', junit], borrowedCommand(''))).code, 0)
  assert.match(
    await readFile(junit, 'utf8'),
    /failures="1".*<failure message="Verdict: no requests /s,
  )
  const deep = join(folder, 'new', 'folder', 'report.json')
  assert.equal((await exec(['--report', deep], good)).code, 0)
  assert.equal(JSON.parse(await readFile(deep, 'utf8')).ok, true)
  const run = join(folder, 'run.json')
  const { code, stderr } = await exec(
    ['--report', folder, '--junit', junit, '--har', tmpdir(), '--record', run],
    good,
  )
  assert.equal(code, 2)
  const isEnd = stderr.endsWith(
    `--report cannot write ${folder}: EISDIR; --har cannot write ${tmpdir()}: EISDIR\n`,
  )
  assert.ok(isEnd, stderr)
  for (const [file, content] of [
    [junit, /failures="0"/],
    [run, /listPets/],
  ] as const) {
    assert.match(await readFile(file, 'utf8'), content, 'the other files are written')
  }
})

test('exec - a clean run says what it has not tried', async t => {
  const folder = temporaryFolder(t)
  const seed = join(folder, 'seed.json')
  const animals = Array.from({ length: 21 }, () => ({ name: 'Ada', categoryId: 1 }))
  await writeFile(seed, JSON.stringify(animals))
  const list = (query: string) => borrowedCommand(`${GET} await get('/pets${query}')`)
  const faults = 'faults (add --explore)'
  const cases: [flags: string[], command: string[], untried: string | undefined][] = [
    [[], list(''), `${faults}, lists with animals and ${EXACT}`],
    [
      ['--seed', seed],
      list(''),
      `${faults}, lists with ${EXACT}, animals beyond the first 20 (limit)`,
    ],
    [['--seed', 'edge'], list(''), faults],
    [['--seed', 'edge', '--schedule', 'listPets#1=delay:1ms'], list(''), undefined],
    [['--seed', 'edge', '--schedule', 'listPets#1=malformed'], list(''), undefined],
    [['--seed', seed], list('?page=2'), undefined],
  ]
  for (const [flags, command, untried] of cases) {
    const { code, stderr } = await exec(flags, command)
    assert.equal(code, 0, stderr)
    const [, said] = /^Not tried: (.*)\.$/m.exec(stderr) ?? []
    assert.equal(said, untried, flags.join(' '))
  }
})

test('exec - says that a process of the command goes on sending', async () => {
  const loop = `const headers = { authorization: 'Bearer ' + process.env.ADOPTION_STORE_API_KEY }
    const send = () => fetch(process.env.ADOPTION_STORE_BASE_URL + '/pets', { headers }).then(send, () => process.exit())
    send()`
  const script = `import { spawn } from 'node:child_process'
    spawn(process.execPath, ['-e', ${JSON.stringify(loop)}], { detached: true, stdio: 'ignore' }).unref()
    const { ADOPTION_STORE_CONTROL_URL: control } = process.env
    while ((await (await fetch(control + '/requests')).json()).requests.length === 0);`
  const { code, stderr } = await exec(['--rate-limiting', 'off'], scriptCommand(script))
  assert.equal(code, 0)
  assert.match(
    stderr,
    /^\d+ requests? came after the command had ended, from a process that it left r/m,
  )
})

test('exec - --strict fails for requests that came after the command had ended', {
  skip: !existsSync('/proc/self/environ') && 'only Linux shows which processes are left',
}, async () => {
  // Once the command has ended, however long that takes on a busy machine.
  const later = `const send = () => fetch(process.env.ADOPTION_STORE_BASE_URL + '/pets')
    const waiting = setInterval(() => {
      if (process.ppid === Number(process.argv[1])) return
      clearInterval(waiting)
      setTimeout(send, 300)
    }, 5)`
  const script = `${GET} await get('/pets')
    const { spawn } = await import('node:child_process')
    const words = ['-e', ${JSON.stringify(later)}, String(process.pid)]
    spawn(process.execPath, words, { detached: true, stdio: 'ignore' }).unref()`
  const { code, stderr } = await exec(['--strict'], scriptCommand(script))
  assert.match(stderr, /^1 request came after the command had ended/m)
  assert.equal(code, 1)
})

test('exec - a client that only got 401 has not been tested', async () => {
  const script = borrowedCommand(`${GET} await (await fetch(url + '/pets')).text()`)
  const { code, stderr } = await exec(['--strict'], script)
  assert.equal(code, 1)
  assert.match(stderr, /^Verdict: every request got 401, so nothing else was checked\. /m)
  const explored = await exec(['--explore'], script)
  assert.equal(explored.code, 1)
  assert.match(explored.stderr, /^Nothing was explored: without a fault, every request got 401\.$/m)
})

test('exec - where nothing arrived, it names the cause that fits the command', async () => {
  const bin = process.execPath
  for (const [words, cause] of [
    [[bin, '-e', '0', 'go test ./...'], /go test repeats cached results: add -count=1\.$/m],
    [['sh', '-c', 'true # turbo run test'], /force the run \(--force, --skip-nx-cache\)/],
    [['sh', '-c', 'true # tox -e py311'], /pass_env = ADOPTION_STORE_\*/],
    [['env', '-i', 'PATH=/usr/bin:/bin', 'true'], /name ADOPTION_STORE_\*/],
    [[bin, '-e', '0'], /Does the client use ADOPTION_STORE_BASE_URL\? A cached test result,/],
  ] as const) {
    const { code, stderr } = await exec(['--strict'], words)
    assert.match(stderr, /^Verdict: no requests arrived, so nothing was checked\. /)
    assert.match(stderr, cause)
    assert.equal(code, 1)
  }
})

test('exec - requests to its address go through no proxy', async () => {
  for (const [given, expected] of [
    [{}, '127.0.0.1'],
    [{ NO_PROXY: 'intranet' }, 'intranet,127.0.0.1'],
    [{ NO_PROXY: 'a', no_proxy: 'b' }, 'b,127.0.0.1'],
  ] as const) {
    const { NO_PROXY: _, no_proxy: __, ...env } = process.env
    const check = `[ "$NO_PROXY" = ${expected} ] && [ "$no_proxy" = ${expected} ]`
    const words = execWords([], ['sh', '-c', check])
    assert.equal((await runInThread(words, { ...env, ...given })).code, 0, expected)
  }
})

test('exec - a signal reaches the command once, whether the group got it or only this process', {
  skip: process.platform === 'win32' && 'Windows has no process groups',
}, async () => {
  const script = `for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => console.log(name))
    process.on('SIGUSR2', () => process.exit())
    setInterval(() => {}, 1e6); console.log('up')`
  for (const [signal, target] of [
    ['SIGINT', 'process'],
    ['SIGTERM', 'group'],
  ] as const) {
    const child = spawn(process.execPath, [MAIN, 'exec', '--', ...scriptCommand(script)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    await firstOutput(child)
    const pid = child.pid as number
    process.kill(target === 'group' ? -pid : pid, signal)
    // `timeout` signals the process, and then its group.
    if (target === 'group') process.kill(pid, signal)
    const first = await firstOutput(child)
    child.kill('SIGUSR2')
    assert.equal(first + (await text(child.stdout)), `${signal}\n`, `${signal} ${target}`)
  }
})

test('exec - on a terminal, it says what it sets; without a name, it is the command before --', {
  skip: !existsSync('/usr/bin/script'),
}, async () => {
  const words = [process.execPath, MAIN, '--no-cors', '--', 'true'].map(word => `'${word}'`)
  const child = spawn('/usr/bin/script', ['-qec', words.join(' '), '/dev/null'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const output = await text(child.stdout)
  assert.match(
    output,
    /: exec sets ADOPTION_STORE_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/v1, ADOPTION_/,
  )
  assert.match(output, /Verdict: no requests arrived/)
})

test('exec - requests for other paths than those of the API test nothing', async () => {
  for (const path of ["'/'", "'/healthz'", "'/pets'", "new URL(url).pathname + '/orders'"]) {
    const script = borrowedCommand(
      `${GET} await fetch(new URL(url).origin + ${path}, { headers: { authorization: 'Bearer ' + key } })`,
    )
    const { code, stderr } = await exec(['--strict'], script)
    assert.equal(code, 1, path)
    assert.match(
      stderr,
      /^(Verdict: 1 finding[\s\S]*\n)?Verdict: no request was for an operation of this API, so nothing was checked\. The first request was GET \/\S*\. Append \/pets to /,
    )
  }
  const unknown = borrowedCommand(
    `${GET} await fetch(new URL(url).origin + '/worlds/none/v1/pets', { headers: { authorization: 'Bearer ' + key } })`,
  )
  const preflight = borrowedCommand(
    `${GET} await fetch(url + '/pets', { method: 'OPTIONS', headers: { origin: 'http://a.test', 'access-control-request-method': 'GET' } })`,
  )
  for (const script of [unknown, preflight]) {
    const { code, stderr } = await exec(['--strict'], script)
    assert.equal(code, 1, stderr)
    assert.match(stderr, /nothing was checked/)
  }
  const world =
    borrowedCommand(`${POST.replace('control', 'process.env.ADOPTION_STORE_CONTROL_URL')}
    const { baseUrl, apiKeys } = await (await post('/worlds')).json()
    await fetch(baseUrl + '/pets', { headers: { authorization: 'Bearer ' + apiKeys.free } })`)
  assert.equal((await exec(['--strict'], world)).code, 0)
})

test('exec - a request that is unanswered at the end was for a path of the API', async t => {
  const folder = temporaryFolder(t)
  const junit = join(folder, 'verdict.xml')
  /** Gives up on a request once it has arrived. */
  const giveUp = (path: string, prepare = '') =>
    borrowedCommand(`${GET} ${POST} ${prepare}
    const stop = new AbortController()
    const headers = { authorization: 'Bearer ' + key }
    const got = fetch(${path}, { headers, signal: stop.signal }).catch(() => undefined)
    while ((await (await fetch(control + '/requests')).json()).requests.length === 0);
    stop.abort()
    if (await got) process.exit(3)`)
  const files = ['--strict', '--junit', junit]
  const planned = await exec(
    [...files, '--schedule', 'listPets#1=delay:60m'],
    giveUp("url + '/pets'"),
  )
  const clean = 'Verdict: no violations in 1 request.\n'
  assert.deepEqual([planned.code, planned.stderr], [0, clean])
  assert.match(await readFile(junit, 'utf8'), /failures="0"/)
  const arm = `await post('/faults', 'POST', '{"kind":"delay","duration":3600000}')`
  const armed = await exec(files, giveUp("url + '/pets'", arm))
  assert.deepEqual([armed.code, armed.stderr], [0, clean])
  const wrong = await exec(
    [...files, '--schedule', 'other#1=delay:60m'],
    giveUp("new URL(url).origin + '/pets'"),
  )
  assert.equal(wrong.code, 1, wrong.stderr)
  assert.match(wrong.stderr, /^Verdict: no request was for an operation of this API/)
  assert.match(await readFile(junit, 'utf8'), /failures="1"/)
})

test('exec - --strict=notes fails for a note, and --clients makes it a finding', async () => {
  const noted = borrowedCommand(`${GET} ${POST}
    await post('/clock', 'POST', '{"frozen":true}')
    await Promise.all([get('/pets'), get('/pets'), get('/pets')])
    await post('/faults', 'POST', '{"kind":"status","status":503,"retryAfter":60}')
    await get('/pets'); await post('/clock', 'POST', '{"advance":"1s"}'); await get('/pets')`)
  for (const [flags, code, mark] of [
    [['--strict'], 0, ' (likely)'],
    [['--strict=notes'], 1, ' (likely)'],
    [['--strict=notes', '--allow=retry-after.early'], 0, ' (likely)'],
    [['--strict', '--clients', '1'], 1, ''],
    [['--strict', '--clients', '2'], 0, ' (likely)'],
  ] as const) {
    const result = await exec([...flags], noted)
    assert.match(
      result.stderr,
      new RegExp(`\n  retry-after\\.early${mark.replace(/[()]/g, '\\$&')} \\(key`),
      flags.join(' '),
    )
    assert.equal(result.code, code, flags.join(' '))
  }
})

test('exec - --require-faults fails for a fault that never fired, in any world and before any reset', async t => {
  const folder = temporaryFolder(t)
  const [json, junit] = [join(folder, 'a.json'), join(folder, 'a.xml')]
  const arm = (nth: number) =>
    borrowedCommand(`${GET} ${POST}
    await post('/faults', 'POST', '{"kind":"status","status":503,"nth":${nth}}')
    await get('/pets'); await post('/reset'); await get('/pets')`)
  const unused =
    / {2}fault\.unused \(every key, first at .*\n {4}seen: .* status:503{"retryAfter":null,"nth":2}\n/
  const likely = / {2}fault\.unused \(likely\) /
  const inWorld = borrowedCommand(`${GET} ${POST}
    const { controlUrl } = await (await post('/worlds')).json()
    const headers = { 'content-type': 'application/json' }
    await fetch(controlUrl + '/faults', { method: 'POST', headers, body: '{"kind":"hang"}' })
    await get('/pets')`)
  const cases: [flags: string[], command: string[], code: number, text: RegExp][] = [
    [[], arm(2), 0, likely],
    [['--require-faults', '--report', json, '--junit', junit], arm(2), 1, unused],
    [['--require-faults', '--strict'], arm(1), 0, /no violations/],
    [['--require-faults', '--allow', 'fault.unused'], arm(2), 0, likely],
    [['--require-faults'], inWorld, 1, /fault\.unused \(every key, .*, world w1\)/],
    [
      ['--require-faults', '--delay', '1ms'],
      borrowedCommand(`${GET} await get('/pets')`),
      0,
      /no violations/,
    ],
    [['--require-faults'], ['sh', '-c', 'exit 7'], 7, /no requests arrived/],
  ]
  for (const [flags, command, code, text] of cases) {
    const result = await exec(flags, command)
    assert.match(result.stderr, text)
    assert.equal(result.code, code, flags.join(' '))
  }
  const report = JSON.parse(await readFile(json, 'utf8')) as Report
  assert.deepEqual([report.ok, report.findings[0]?.rule, report.notes], [false, 'fault.unused', []])
  assert.match(await readFile(junit, 'utf8'), /name="fault\.unused"><failure /)
})

test('exec - closes its server and stops listening to signals, even when the report fails', async t => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'url')
  const wait = `{ kind: 'status', status: 503, retryAfter: 60, times: 2 }`
  const early = scriptCommand(`${GET} ${POST} await post('/faults', 'POST', JSON.stringify(${wait}))
    await get('/pets'); await get('/pets')
    ;(await import('node:fs')).writeFileSync(${JSON.stringify(file)}, control + '/clock')`)
  const listeners = () =>
    ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'].map(signal =>
      process.listenerCount(signal),
    )
  const before = listeners()
  const assertClosed = async () => {
    assert.deepEqual(listeners(), before)
    await assert.rejects(fetch(await readFile(file, 'utf8')), /fetch failed/)
    await rm(file)
  }
  assert.equal(await runExec(['--time', '2030-01-01'], early), 0)
  await assertClosed()
  t.mock.method(Date.prototype, 'toISOString', () => {
    throw new RangeError('planted')
  })
  await assert.rejects(runExec(['--time', '2030-01-01'], early), /planted/)
  await assertClosed()
  await assert.rejects(runExec([], ['no-such-command']), /ENOENT/)
  assert.deepEqual(listeners(), before)
})

test('serve - --control controls everything over HTTP, and --time time as well', async t => {
  const words = ['-q', '--time', '2030-12-04', '--delay', '1ms']
  const { ready, stop } = await served(t, words)
  const { baseUrl, control, apiKeys } = ready
  const command = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const content = await (await fetch(`${control}/${path}`, init)).text()
    return JSON.parse(content || '{}') as Record<string, unknown>
  }
  const headers = { authorization: `Bearer ${apiKeys.pro}` }
  const faults = [{ kind: 'delay', duration: 1, real: true, times: 'always', left: 'always' }]
  await command('DELETE', 'faults')
  await command('POST', 'clock', { advance: '1d' })
  assert.equal((await fetch(`${baseUrl}/pets/1`, { headers })).status, 410)
  const { digest } = await command('POST', 'reset')
  assert.deepEqual(await command('GET', 'digest'), { digest })
  assert.deepEqual(await command('GET', 'faults'), { faults })
  await command('DELETE', 'faults')
  await command('POST', 'faults', { kind: 'delay', duration: 1_000 })
  const waiting = fetch(`${baseUrl}/pets`, { headers })
  while (((await command('GET', 'requests'))['requests'] as unknown[]).length === 0);
  const stopped = stop()
  assert.equal(((await (await waiting).json()) as unknown[]).length, 20)
  assert.equal((await stopped).code, 0)
})

test('exec - --har writes every exchange of the run: before resets, and of worlds', async t => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'run.har')
  const script = `${GET} ${POST} await get('/pets?limit=1'); await post('/reset')
    const { id, baseUrl, apiKeys } = await (await post('/worlds')).json()
    await fetch(baseUrl + '/pets', { headers: { authorization: 'Bearer ' + apiKeys.free } })
    await post('/worlds/' + id, 'DELETE')`
  const { code, stderr } = await exec(['--har', file], borrowedCommand(script))
  assert.equal(code, 0)
  assert.match(stderr, /^Verdict: no violations in 2 requests\.\n/)
  const { log } = JSON.parse(await readFile(file, 'utf8')) as Har
  const urls = log.entries.map(({ request }) => request.url.replace(/:\d+/, ''))
  assert.deepEqual(urls, ['http://127.0.0.1/v1/pets?limit=1', 'http://127.0.0.1/worlds/w1/v1/pets'])
  const lost = await exec(['--har', join(file, 'run.har')], borrowedCommand(script))
  assert.equal(lost.code, 2)
  assert.match(lost.stderr, /^animal-adoption-store: --har cannot write .*run\.har: E[A-Z]+$/m)
})

/** In this process. */
function runExec(flags: readonly string[], command: readonly string[]) {
  const line = parseCommandLine(['exec', ...flags], {})
  const { given } = line
  return execHere(readSettings(line) as unknown as ExecSettings, { operands: command, given })
}

/** Without what the command prints. */
function exec(flags: readonly string[], command: readonly string[]) {
  return runInThread(execWords(flags, command))
}

/** With what the command prints, in a process as a user starts it. */
function execInProcess(flags: readonly string[], command: readonly string[]) {
  return runCommand(execWords(flags, command))
}

function execWords(flags: readonly string[], command: readonly string[]): string[] {
  return ['exec', ...flags, ...(command.length > 0 ? ['--', ...command] : [])]
}
