import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand, runInThread } from '../../support/command.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** The tools of a client: `get` returns a status and the seconds of Retry-After. */
const TOOLS = `
  const { spawn } = await import('node:child_process')
  const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key, ADOPTION_STORE_CONTROL_URL: control } = process.env
  const headers = { authorization: 'Bearer ' + key }
  const get = async init => {
    const { status, headers: got } = await fetch(url + '/pets', { headers, ...init })
    return { status, wait: got.get('retry-after') * 1000 }
  }
  const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
  const calls = async (count, part = 1) => {
    for (let call = 0; call < count; ) {
      const { status, wait } = await get()
      if (status === 200) call++
      else await pause(wait * part)
    }
  }
  const arm = fault => fetch(control + '/faults', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fault),
  })
  const seconds = async run => {
    const begin = [Date.now(), performance.now(), Number(process.hrtime.bigint()) / 1e6]
    await run()
    const end = [Date.now(), performance.now(), Number(process.hrtime.bigint()) / 1e6]
    return end.map((ms, at) => Math.round((ms - begin[at]) / 15_000) * 15).join('/')
  }
`

/** A client that would take minutes, what it prints, and the verdict on it. */
const CLIENTS: Record<string, readonly [script: string, stdout: string, verdict: RegExp]> = {
  'waits for the next minute on every clock, from a fixed instant on': [
    `console.log(new Date().toISOString().slice(0, 16), await seconds(() => calls(65)))`,
    '2030-01-01T00:00 60/60/60\n',
    /^Verdict: no violations in 66 requests\..*\nSkipped (5\d s|1 min) of/s,
  ],
  'waits half as long as it should': [
    `console.log(await seconds(() => calls(65, 0.5)))`,
    '60/60/60\n',
    /^Verdict: 1 finding .*retry-after\.early .*\nSkipped (5\d s|1 min) of/s,
  ],
  'shares its key with two processes, one of which is killed and one exits at once': [
    `const start = work => spawn(process.execPath, ['--input-type=module', '-e', process.env.TOOLS + work])
    const [killed, quick] = [start('await calls(1); await pause(1e9)'), start('await get(); process.exit()')]
    await Promise.all([quick, killed].map(child => new Promise(resolve => {
      child.on('exit', resolve)
      if (child === quick) child.on('exit', () => killed.kill('SIGKILL'))
    })))
    await calls(65)`,
    '',
    /^Verdict: no violations .*\nSkipped /s,
  ],
  'sleeps with every kind of timer, in its main thread and in a worker with another context': [
    `const { Worker } = await import('node:worker_threads')
    const sleeps = \`
      let ticks = 0
      const every = () => new Promise(resolve => {
        const timer = setInterval(() => ++ticks === 3 && resolve(clearInterval(timer)), 10_000)
      })
      const { setTimeout: wait } = await import('node:timers/promises')
      const aborted = () => new Promise(resolve => {
        const kept = setInterval(() => {}, 1e6)
        AbortSignal.timeout(10_000).onabort = () => resolve(clearInterval(kept))
      })
      const { createContext, runInContext } = await import('node:vm')
      const context = createContext({ setTimeout })
      await get()
      const begin = runInContext('new Date()', context)
      console.log(await seconds(every), await seconds(() => wait(70_000)), await seconds(aborted),
        runInContext('Date.now()', context) - begin >= 110_000)\`
    await eval('(async () => {' + sleeps + '})()')
    const worker = new Worker('(async () => {' + process.env.TOOLS + sleeps + '})()', { eval: true })
    await new Promise(resolve => worker.on('exit', resolve))`,
    '30/30/30 75/75/75 15/15/15 true\n'.repeat(2),
    /^Verdict: no violations in 2 requests\..*\nSkipped 3 min/s,
  ],
  'gives up on a response after its own time limit, and waits for a delayed one': [
    `await arm({ kind: 'hang' })
    console.log(await seconds(() => get({ signal: AbortSignal.timeout(45_000) }).catch(() => {})))
    await arm({ kind: 'delay', duration: '31s' })
    console.log(await seconds(() => get({ signal: AbortSignal.timeout(45_000) })))`,
    '45/45/45\n30/30/30\n',
    /^Verdict: no violations in 2 requests\..*\nSkipped 1 min \d+ s/s,
  ],
  'works before and after its request, with a time limit': [
    `const { connect } = await import('node:net')
    const { Worker } = await import('node:worker_threads')
    const waits = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)'
    const work = () => new Promise(resolve => new Worker(waits, { eval: true }).on('exit', resolve))
    const bytes = (...all) => Buffer.concat(all.map(one => (one.length ? one : Buffer.from([one]))))
    const length = all => bytes(...[0, 7, 14, 21].map(by => ((all.length >> by) & 127) | 128), 0)
    const sized = all => bytes(length(all), all)
    const body = sized(bytes(0, Buffer.alloc(600, bytes(0x41, 1, 0x1a)), 0x0b))
    const types = Buffer.alloc(30_000)
    const slow = bytes(
      Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0]),
      ...[3, sized(bytes(length(types), types))],
      ...[10, sized(bytes(length(types), Buffer.alloc(30_000 * body.length, body)))],
    )
    const limit = AbortSignal.timeout(45_000)
    const { hostname, port } = new URL(url)
    const socket = connect(port, hostname)
    await new Promise(resolve => socket.on('connect', resolve))
    await work()
    socket.destroy()
    await get()
    await work()
    const other = setTimeout(() => console.log('overtaken'), 45_000)
    await WebAssembly.compile(slow)
    clearTimeout(other)
    console.log(limit.aborted)`,
    'false\n',
    /^Verdict: no violations in 1 request\..*\nSkipped 0 s of waits\.$/ms,
  ],
  'starts a process without the shim, and waits for it in real time': [
    `await calls(1)
    const env = { ...process.env, NODE_OPTIONS: '' }
    const child = spawn(process.execPath, ['--input-type=module', '-e', process.env.TOOLS + 'await get()'], { env })
    await new Promise(resolve => child.on('exit', resolve))
    await pause(1_000)`,
    '',
    /^Verdict: no violations in 2 requests\..*\nSkipped 0 s of waits\.\nA process that is neither /s,
  ],
}

for (const [does, [script, stdout, verdict]] of Object.entries(CLIENTS)) {
  test(`exec --skip-waits - a client that ${does}`, async () => {
    const ended = await run([], script)
    assert.deepEqual([ended.code, ended.stdout], [0, stdout], ended.stderr)
    assert.match(ended.stderr, verdict)
  })
}

test('exec --skip-waits - two recordings are alike, and can be replayed', async t => {
  const folder = temporaryFolder(t)
  const [one, other] = ['one.json', 'other.json'].map(name => join(folder, name)) as [
    string,
    string,
  ]
  for (const file of [one, other]) {
    assert.equal((await run(['--record', file], 'await calls(62)', runInThread)).code, 0)
  }
  assert.equal((await runInThread(['diff', one, other])).code, 0)
  assert.equal((await runInThread(['replay', one, '--check'])).code, 0)
})

test('exec --explore --skip-waits - a client without a time limit fails in a hang', async () => {
  const { code, stderr } = await run(
    ['--explore', '--faults', 'hang'],
    'while ((await get().catch(() => ({}))).status !== 200);',
    runInThread,
  )
  assert.equal(code, 1)
  assert.match(stderr, /^Failed: listPets#1=hang: the command took longer than 60 s/m)
  assert.match(stderr, /1 failure\.$/m)
  assert.match(stderr, /^Skipped (5\d s|1 min( \d+ s)?) of waits\.$/m)
})

function run(options: readonly string[], script: string, start = runCommand) {
  const command = [process.execPath, '--input-type=module', '-e', TOOLS + script]
  const env = { ...process.env, TOOLS }
  return start(['exec', '--skip-waits', ...options, '--', ...command], env)
}
