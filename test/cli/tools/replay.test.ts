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
  const [without, other] = [await recorded(t, { script: '' }), await recorded(t, { script: '' })]
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
  const clock = await recorded(t, LATER)
  const checked = await runInThread(['replay', clock, '--check'])
  assert.deepEqual([checked.code, checked.stdout], [0, `${clock}: 1 step, all as recorded.\n`])
})

/** A recording: its script, by default RUN, and its options, by default a clock that stands still. */
interface Run {
  readonly script?: string
  readonly flags?: readonly string[]
}

const LATER = { script: `${CLIENT} await command('/clock', { advance: '1s' })` }
const listedBy = (agent: string) => ({
  script: `${CLIENT} await fetch(url + '/pets', { headers: { ...headers, 'x-agent': '${agent}' } })`,
})
/** On a running clock, with a fault. */
const created = (fault?: string) => ({
  script: `${CLIENT} await create('Ada').then(response => response.text()).catch(() => {})`,
  flags: fault === undefined ? [] : ['--schedule', `createPet#1=${fault}`],
})
const RETRIES = `${CLIENT}
  const isCreated = await create('Ada').then(response => response.ok)
  if (!isCreated) await create('Ada')
  await fetch(url + '/pets', { headers })`
const LOST_ANSWER = ['--schedule', 'createPet#1=status:503-after']

const DIFFERENCES: readonly (readonly [good: Run, bad: Run, ...printed: string[]])[] = [
  [{}, {}, 'No step differs: 8 in both recordings.'],
  [
    {},
    { script: RUN.replace("create('Bo')", "create('Bob')") },
    'Step 4 differs, request 2, POST /v1/pets: body "{\\"name\\":\\"Bob\\",\\"categoryId\\":1}" instead of "{\\"name\\":\\"Bo\\",\\"categoryId\\":1}".',
  ],
  [
    {},
    { script: RUN.replace("await create('Cy')", '') },
    'Step 7 differs, request 3, POST /v1/pets: the second recording ends before it.',
    'At the end: animals 1 instead of 1, 2.',
  ],
  // The times of running clocks do not count.
  [{ flags: [] }, { flags: [] }, 'No step differs: 8 in both recordings.'],
  [{ flags: [] }, {}, 'The recordings begin with clock "standing still" instead of "running".'],
  ...['reset', 'truncate'].flatMap((fault): [Run, Run, string][] => {
    const step = 'Step 2 differs, the response to request 1: fault'
    return [
      [created(), created(fault), `${step} "${fault}" instead of "none".`],
      [created(fault), created(), `${step} "none" instead of "${fault}".`],
    ]
  }),
  [created('reset'), created('reset'), 'No step differs: 2 in both recordings.'],
  [
    created(),
    created('status:503'),
    'Step 2 differs, the response to request 1: status 503 instead of 201.',
    'At the end: no animals instead of 1.',
  ],
  [
    { script: RETRIES },
    { script: RETRIES, flags: [...CLOCK, ...LOST_ANSWER] },
    'Step 2 differs, the response to request 1: status 503 instead of 201.',
    'Without a fault, step 3 is the first that differs, request 2, POST /v1/pets: method "POST" instead of "GET".',
    'At the end: animals 1, 2 instead of 1.',
  ],
  [
    LATER,
    { script: `${CLIENT} await create('Ada')` },
    'Step 1 differs, clock: request 1, POST /v1/pets instead of clock.',
    'At the end: animals 1 instead of none.',
  ],
  [
    listedBy('one'),
    listedBy('two'),
    'Step 1 differs, request 1, GET /v1/pets: header x-agent "two" instead of "one".',
  ],
]

test('diff - names the first step that differs, the next one after an injected fault, and the end', async t => {
  for (const [good, bad, ...printed] of DIFFERENCES) {
    const files = [await recorded(t, good), await recorded(t, bad)]
    const { code, stdout } = await runInThread(['diff', ...files])
    assert.deepEqual(stdout.trimEnd().split('\n'), printed)
    assert.equal(code, stdout.startsWith('No step differs') ? 0 : 1, stdout)
  }
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

function recorded(t: TestContext, { script = RUN, flags = CLOCK }: Run): Promise<string> {
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
