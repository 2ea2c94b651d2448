import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import {
  createDatabase,
  type Engine,
  startPostgres,
  startRedis,
  withoutBoth,
} from '../engines/engines.js'
import { withoutSqlite } from '../stores/sqlite/availability.js'
import { type Ended, type Running, runInThread, startInThread } from './command.js'
import { infoOf, readDocExamples } from './doc-examples.js'
import { codeBlocks, readPages } from './pages.js'
import { BUILD_URL, mainIn, ROOT } from './paths.js'
import { assertPrinted, printsOf } from './printed.js'

/**
 * Registers a test for each code block of every page and each `@example`: those that need only Node, or those that need
 * a shell with its tools, or engines. The info string after the fence says how to run it:
 *
 * - `js`, `js test`: as a module; what a test prints says nothing
 * - `sh`: by a shell
 * - `js server`, `sh server`: with a server beside it
 * - `sh server frozen`: the same, whose clock stands still
 * - `js sqlite`, `sh sqlite`: the same where SQLite has a driver
 * - `js engines`, `sh engines`: with PostgreSQL and Redis beside it, in place of their addresses
 * - `sh setup`: not here, as CI installs project and package; only the scripts it names are checked,
 *   and what `npm start` prints
 * - `<language> file=<path>`: not here, but must be an excerpt of that file, which CI runs
 * - `json`: is parsed; `text`, `mermaid`: nothing to run, and no command
 * - `text test=<path>`, `sh test=<path>`: not here, but read from the page by that test
 * - `text deploy`: not here, but typed by `test/engines/deploy.test.ts`
 *
 * The output of a block is compared with the block `text output` below it or, in JavaScript, with what
 * follows `// prints`, line by line; see `assertPrinted`.
 */
export function testCodeBlocks(needs: 'node' | 'tools'): void {
  for (const page of readPages()) {
    const blocks = codeBlocks(page)
    for (const [index, { line, info, code }] of blocks.entries()) {
      if (info === 'text output' || TOOLS.includes(info) !== (needs === 'tools')) continue
      const below = blocks[index + 1]
      test(`readme - the ${info} block of ${page.path}, line ${line}`, async t => {
        const printed = await runBlock(t, info, code)
        const shown = below?.info === 'text output' ? below.code : printsOf(info, code)
        if (printed !== undefined && shown !== undefined) assertPrinted(printed, shown)
      })
    }
  }
  for (const { path, name, code = '' } of readDocExamples()) {
    const info = infoOf(code)
    if (code === '' || info === undefined || TOOLS.includes(info) !== (needs === 'tools')) continue
    test(`readme - the example of ${name} in ${path}`, async t => {
      const printed = await runBlock(t, info, code)
      const shown = printsOf(info, code)
      if (printed !== undefined && shown !== undefined) assertPrinted(printed, shown)
    })
  }
}

const TOOLS = ['sh', 'sh server', 'sh server frozen', 'sh sqlite', 'js engines', 'sh engines']

/** A line that begins with a program, or with a command of Redis. */
const COMMAND =
  /^(\$ |sudo |npx |npm |node |curl |docker |sqlite3 |psql |redis-cli |php |go |python3? |animal-adoption-store |[A-Z]{3,} [A-Z]{3,} )/m

const MAIN = mainIn(BUILD_URL)
const WITHOUT_HOOKS = join(ROOT, 'test/support/without-hooks.cjs')
const DOCUMENTED_HOST = '127.0.0.1:4280'

// Below the package, so that a block imports it by its own name, as a user does.
const modules = mkdtempSync(fileURLToPath(new URL('readme-', BUILD_URL)))
const commands = mkdtempSync(join(tmpdir(), 'adoption-readme-'))
for (const [name, line] of [
  ['animal-adoption-store', `exec '${process.execPath}' '${MAIN}' "$@"`],
  ['npx', 'exec "$@"'],
] as const) {
  writeFileSync(join(commands, name), `#!/bin/sh\n${line}\n`)
  chmodSync(join(commands, name), 0o755)
}
after(() => {
  rmSync(modules, { recursive: true, force: true })
  rmSync(commands, { recursive: true, force: true })
})

/** Returns what the block has printed, unless it is of a kind whose output says nothing. */
async function runBlock(t: TestContext, info: string, code: string): Promise<string | undefined> {
  const [, excerptOf] = info.match(/ file=(\S+)$/) ?? []
  if (excerptOf) return assertExcerpt(excerptOf, code)
  const [, testedBy] = info.match(/^(?:text|sh) test=(\S+)$/) ?? []
  if (testedBy) return assertExcerpt(testedBy, code.split(' ', 2).join(' '))
  switch (info) {
    case 'js':
      return runModule(code)
    case 'js test':
      await runModule(code)
      return undefined
    case 'js server':
      return besideServer(t, code, runModule)
    case 'sh':
      return runShell(t, code)
    case 'sh server':
    case 'sh server frozen':
      return besideServer(
        t,
        code,
        async script => {
          const output = await runShell(t, script)
          for (const [answer, status] of (output ?? '').matchAll(/^HTTP\/1\.1 (\d+).*$/gm)) {
            assert.ok(Number(status) < 400, answer)
          }
          return output
        },
        info.endsWith('frozen') ? ['--time', '2030-01-01T00:00:00Z'] : [],
      )
    case 'js sqlite':
      return !withoutSqlite ? runModule(code) : skip(t, withoutSqlite)
    case 'sh sqlite':
      return !withoutSqlite ? runForAMoment(t, code) : skip(t, withoutSqlite)
    case 'js engines':
      return withEngines(t, code, runModule)
    case 'sh engines':
      return withEngines(t, code, script => runForAMoment(t, script))
    case 'sh setup':
      assertScripts(code)
      return code.includes('npm start') ? startOf(t) : undefined
    case 'json':
      JSON.parse(code)
      return undefined
    case 'text':
      assert.doesNotMatch(code, COMMAND, 'a command is run, or says which test runs it')
      return undefined
    case 'text deploy':
    case 'mermaid':
      return undefined
    default:
      throw new Error(`No way to run a block marked '${info}'`)
  }
}

/** In a thread shared with other blocks, or in its own if the block leaves tests or subscribers behind. */
async function runModule(code: string): Promise<string> {
  const folder = mkdtempSync(join(modules, 'block-'))
  const path = join(folder, 'block.mjs')
  writeFileSync(path, code)
  const before = process.cwd()
  process.chdir(mkdtempSync(join(commands, 'run-')))
  try {
    if (!/node:(test|diagnostics_channel)/.test(code))
      return succeeded(await runInThread([], environment(), path))
    const execArgv = ['--require', WITHOUT_HOOKS]
    const thread = new Worker(path, { env: environment(), execArgv, stdout: true, stderr: true })
    return await output(thread)
  } finally {
    process.chdir(before)
  }
}

async function runShell(t: TestContext, code: string): Promise<string | undefined> {
  const missing = ['curl', 'python3', 'sqlite3'].find(
    tool => code.includes(tool) && spawnSync(tool, ['--version']).error,
  )
  if (missing) return skip(t, `${missing} is not installed`)
  const script = `set -eu\nanimal-adoption-store --version >/dev/null\nexec 2>&1\n${code}`
  const folder = mkdtempSync(join(commands, 'run-'))
  // Blocks name examples as in a checkout.
  symlinkSync(join(ROOT, 'test'), join(folder, 'test'))
  return succeeds('/bin/sh', ['-c', script], folder)
}

function skip(t: TestContext, reason: string): undefined {
  t.skip(reason)
}

/** Runs the code with the address of a server that runs until the test ends. */
async function besideServer(
  t: TestContext,
  code: string,
  run: (code: string) => Promise<string | undefined>,
  more: readonly string[] = [],
): Promise<string | undefined> {
  const control = code.includes('$ADOPTION_STORE_CONTROL_URL') ? ['--control'] : []
  const flags = ['--port', '0', '--json', '-q', ...control, ...more]
  const server = startInThread(flags, process.env, MAIN)
  t.after(() => stopped(server))
  const [ready] = await once(server.stdout, 'data')
  const { origin, control: url } = JSON.parse(ready)
  const { host } = new URL(origin)
  const addressed = code.replaceAll('$ADOPTION_STORE_CONTROL_URL', url)
  const output = await run(addressed.replaceAll(DOCUMENTED_HOST, host))
  return output?.replaceAll(host, DOCUMENTED_HOST).replaceAll('\r', '')
}

let engines: Promise<{ postgres: Engine; redis: Engine }> | undefined
let databases = 0
after(async () => {
  const { postgres, redis } = (await engines) ?? {}
  await postgres?.stop()
  await redis?.stop()
})

/** Each block has an empty database of its own. */
async function withEngines(
  t: TestContext,
  code: string,
  run: (code: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (withoutBoth) return skip(t, withoutBoth)
  engines ??= (async () => ({ postgres: await startPostgres(), redis: await startRedis() }))()
  const { postgres, redis } = await engines
  const database = await createDatabase(postgres, `readme${databases++}`)
  const addressed = code
    .replaceAll('postgres://127.0.0.1:5432/adoption', database)
    .replaceAll('redis://127.0.0.1:6379', redis.url)
  return run(addressed)
}

/** A server is stopped once it prints how to stop it; other commands exit on their own. */
async function runForAMoment(t: TestContext, code: string): Promise<string | undefined> {
  const stopping = code.replace(
    /^(.*animal-adoption-store serve.*)$/m,
    '{ $1 & echo $! >pid; wait; } | while read -r line; do case $line in Stop*) kill $(cat pid);; esac; done',
  )
  return runShell(t, stopping)
}

async function startOf(t: TestContext): Promise<string> {
  const server = startInThread(['--port', '0'], process.env, MAIN)
  t.after(() => stopped(server))
  let banner = ''
  for await (const chunk of server.stdout) {
    banner += chunk
    if (banner.includes('Ctrl+C\n')) break
  }
  const stable = banner.replaceAll(/(token=|_control\/)[\w-]+/g, '$1…')
  return stable.replaceAll(/127\.0\.0\.1:\d+/g, DOCUMENTED_HOST)
}

function assertScripts(code: string): undefined {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const [, name = ''] of code.matchAll(/npm (?:run )?(\S+)/g)) {
    assert.ok(name in scripts || ['ci', 'install', 'pack'].includes(name), `npm ${name}`)
  }
}

function assertExcerpt(path: string, code: string): undefined {
  const file = readFileSync(join(ROOT, path), 'utf8')
  assert.ok(file.includes(code.trim()), `${path} does not contain this block:\n${code}`)
}

async function succeeds(command: string, words: string[], cwd: string): Promise<string> {
  return output(
    spawn(command, words, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

function environment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return { ...env, PATH: `${commands}:${env['PATH']}` }
}

/** The output of a process or thread, which must exit without an error. */
async function output(
  running: Worker | ChildProcessByStdio<null, Readable, Readable>,
): Promise<string> {
  const streams = Promise.all([text(running.stdout), text(running.stderr)])
  const [code] = await once(running, 'exit')
  const [stdout, stderr] = await streams
  return succeeded({ code, stdout, stderr })
}

function succeeded({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  return stdout
}

async function stopped(server: Running): Promise<void> {
  server.kill()
  await server.exit
}
