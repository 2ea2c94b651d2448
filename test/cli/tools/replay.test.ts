import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { borrowedCommand } from '../../support/borrowed-command.js'
import { runInThread } from '../../support/command.js'
import { MAIN } from '../../support/paths.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

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
const CLOCK = ['--time', '2030-01-01T00:00:00Z']

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
  const [, origin, token] = /^Console {2}(http:\S+)\/#token=([\w-]+)$/.exec(lines[2] ?? '') ?? []
  const page = await fetch(`${origin}/`, {
    headers: { accept: 'text/html', authorization: `Bearer ${token}` },
  })
  assert.match(await page.text(), /<title>/)
  const report = await fetch(`${origin}/_control/${token}/requests`)
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
  const file = join(temporaryFolder(t), 'changed.json')
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

test('replay, diff - without a step, nothing is compared, and --check and diff fail', async t => {
  const file = await recordedRun()
  const [without, other] = [await recorded(t, ''), await recorded(t, '')]
  const cases: [words: string[], what: string][] = [
    [
      ['replay', without, '--check'],
      `${without}: nothing was compared: it has no step up to step 0`,
    ],
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
    'Step 7 differs, request 3, POST /v1/pets: the second recording ends before it.\nAt the end: animals 1 instead of 1, 2.\n',
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
    /^The recordings begin with clock "standing still" instead of "running"\.\n$/,
  )
})

test('diff - a response that a fault has lost differs, also with running clocks', async t => {
  const script = `${CLIENT} await create('Ada').then(response => response.text()).catch(() => {})`
  const good = await recordedNow(t, script)
  const step2 = 'Step 2 differs, the response to request 1'
  for (const fault of ['reset', 'truncate']) {
    const bad = await recordedNow(t, script, '--schedule', `createPet#1=${fault}`)
    const lost = await runInThread(['diff', good, bad])
    assert.deepEqual(
      [lost.code, lost.stdout],
      [1, `${step2}: fault "${fault}" instead of "none".\n`],
    )
    const back = await runInThread(['diff', bad, good])
    assert.equal(back.stdout, `${step2}: fault "none" instead of "${fault}".\n`)
    assert.equal((await runInThread(['diff', bad, bad])).code, 0)
  }
  const status = await recordedNow(t, script, '--schedule', 'createPet#1=status:503')
  const refused = await runInThread(['diff', good, status])
  assert.equal(
    refused.stdout,
    `${step2}: status 503 instead of 201.\nAt the end: no animals instead of 1.\n`,
  )
})

test('diff - goes on after an injected fault, to the next difference and the end', async t => {
  const script = `${CLIENT}
    const isCreated = await create('Ada').then(response => response.ok)
    if (!isCreated) await create('Ada')
    await fetch(url + '/pets', { headers })`
  const good = await recorded(t, script)
  const bad = await recorded(t, script, '--schedule', 'createPet#1=status:503-after')
  const { code, stdout } = await runInThread(['diff', good, bad])
  assert.equal(code, 1)
  assert.deepEqual(stdout.split('\n'), [
    'Step 2 differs, the response to request 1: status 503 instead of 201.',
    'Without a fault, step 3 is the first that differs, request 2, POST /v1/pets: method "POST" instead of "GET".',
    'At the end: animals 1, 2 instead of 1.',
    '',
  ])
})

test('diff - names a step of another kind, and headers of a request', async t => {
  const good = await recorded(t, `${CLIENT} await command('/clock', { advance: '1s' })`)
  const bad = await recorded(t, `${CLIENT} await create('Ada')`)
  const other = await runInThread(['diff', good, bad])
  assert.equal(
    other.stdout,
    'Step 1 differs, clock: request 1, POST /v1/pets instead of clock.\nAt the end: animals 1 instead of none.\n',
  )
  const list = (agent: string) =>
    `${CLIENT} await fetch(url + '/pets', { headers: { ...headers, 'x-agent': '${agent}' } })`
  const headers = await runInThread([
    'diff',
    await recorded(t, list('one')),
    await recorded(t, list('two')),
  ])
  assert.equal(
    headers.stdout,
    'Step 1 differs, request 1, GET /v1/pets: header x-agent "two" instead of "one".\n',
  )
})

test('replay, diff - a file that is no whole recording is refused in one line', async t => {
  const file = await recordedRun()
  const broken = join(temporaryFolder(t), 'broken.json')
  await writeFile(broken, (await readFile(file, 'utf8')).slice(0, 900))
  const newer = join(temporaryFolder(t), 'newer.json')
  await writeFile(newer, '{"format":"animal-adoption-store recording","version":2}')
  for (const [words, line] of [
    [['replay', file, '--until', '9'], /--until .* 0 to 8, .*'9'$/],
    [['replay', tmpdir()], /folder/],
    [['replay', broken], /broken\.json is damaged/],
    [['replay', newer], /newer\.json has version 2/],
    [['replay', fileURLToPath(import.meta.url)], /is damaged|is not a recording/],
    [['diff', file, broken], /broken\.json is damaged/],
  ] as const) {
    const { code, stdout, stderr } = await runInThread(words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    const [, message = ''] = /^animal-adoption-store: ([^\n]*)\n$/.exec(stderr) ?? []
    assert.match(message, line)
  }
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
  return recordedTo(temporaryFolder(t), script, ...flags)
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
