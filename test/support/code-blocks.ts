import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  createDatabase,
  type Engine,
  startPostgres,
  startRedis,
  withoutBoth,
} from '../engines/engines.js'
import { ANY_DRIVER } from '../sqlite/drivers.js'
import { codeBlocks, readPages } from './pages.js'
import { BUILD_URL, mainIn, ROOT } from './paths.js'

/**
 * Registers a test for each code block of every page: those that need only Node, or those that need
 * a shell with its tools, or engines. The info string after the fence says how to run it:
 *
 * - `js`, `js test`: as a module, or by the test runner
 * - `sh`: by a shell
 * - `js server`, `sh server`: with a server beside it
 * - `js sqlite`, `sh sqlite`: the same where SQLite has a driver
 * - `js engines`, `sh engines`: with PostgreSQL and Redis beside it, in place of their addresses
 * - `sh setup`: not here, as CI installs project and package; only the scripts it names are checked
 * - `<language> file=<path>`: not here, but must be an excerpt of that file, which CI runs
 * - `json`: is parsed; `text`, `mermaid`: nothing to run
 */
export function testCodeBlocks(needs: 'node' | 'tools'): void {
  for (const page of readPages()) {
    for (const { line, info, code } of codeBlocks(page)) {
      if (TOOLS.includes(info) !== (needs === 'tools')) continue
      test(`readme - the ${info} block of ${page.path}, line ${line}`, async t => {
        await runBlock(t, info, code)
      })
    }
  }
}

const TOOLS = ['sh', 'sh server', 'sh sqlite', 'js engines', 'sh engines']

const MAIN = mainIn(BUILD_URL)

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

async function runBlock(t: TestContext, info: string, code: string): Promise<unknown> {
  const [, excerptOf] = info.match(/ file=(\S+)$/) ?? []
  if (excerptOf) return assertExcerpt(excerptOf, code)
  switch (info) {
    case 'js':
      return runModule(code)
    case 'js test':
      return runModule(code, '--test')
    case 'js server':
      return runModule(await besideServer(t, code))
    case 'sh':
      return runShell(t, code)
    case 'sh server':
      return runBesideServer(t, code)
    case 'js sqlite':
      return ANY_DRIVER.skip === false ? runModule(code) : t.skip(ANY_DRIVER.skip)
    case 'sh sqlite':
      return ANY_DRIVER.skip === false ? runForAMoment(t, code) : t.skip(ANY_DRIVER.skip)
    case 'js engines':
      return withEngines(t, code, runModule)
    case 'sh engines':
      return withEngines(t, code, script => runForAMoment(t, script))
    case 'sh setup':
      return assertScripts(code)
    case 'json':
      return JSON.parse(code)
    case 'text':
    case 'mermaid':
      return undefined
    default:
      throw new Error(`No way to run a block marked '${info}'`)
  }
}

async function runModule(code: string, ...flags: string[]): Promise<void> {
  const folder = mkdtempSync(join(modules, 'block-'))
  const path = join(folder, 'block.mjs')
  writeFileSync(path, code)
  await succeeds(process.execPath, [...flags, path], mkdtempSync(join(commands, 'run-')))
}

async function runShell(t: TestContext, code: string): Promise<string> {
  const missing = ['curl', 'python3'].find(
    tool => code.includes(tool) && spawnSync(tool, ['--version']).error,
  )
  if (missing) {
    t.skip(`${missing} is not installed`)
    return ''
  }
  const script = `set -eu\nanimal-adoption-store --version >/dev/null\n${code}`
  return succeeds('/bin/sh', ['-c', script], mkdtempSync(join(commands, 'run-')))
}

async function runBesideServer(t: TestContext, code: string): Promise<void> {
  const output = await runShell(t, await besideServer(t, code))
  for (const [answer, status] of output.matchAll(/^HTTP\/1\.1 (\d+).*$/gm)) {
    assert.ok(Number(status) < 400, answer)
  }
}

/** The code, with the address of a server that runs until the test ends. */
async function besideServer(t: TestContext, code: string): Promise<string> {
  const flags = ['--port', '0', '--json', '-q', ...(code.includes('_control') ? ['--control'] : [])]
  const server = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => server.kill('SIGKILL'))
  const [ready] = await once(server.stdout, 'data')
  return code.replaceAll('127.0.0.1:4280', new URL(JSON.parse(String(ready)).origin).host)
}

let engines: Promise<{ postgres: Engine; redis: Engine }> | undefined
let databases = 0
after(async () => {
  const { postgres, redis } = (await engines) ?? {}
  await postgres?.stop()
  await redis?.stop()
})

/** Each block has an empty database of its own. */
async function withEngines(t: TestContext, code: string, run: (code: string) => Promise<unknown>) {
  if (withoutBoth) return t.skip(withoutBoth)
  engines ??= (async () => ({ postgres: await startPostgres(), redis: await startRedis() }))()
  const { postgres, redis } = await engines
  const database = await createDatabase(postgres, `readme${databases++}`)
  const addressed = code
    .replaceAll('postgres://127.0.0.1:5432/adoption', database)
    .replaceAll('redis://127.0.0.1:6379', redis.url)
  await run(addressed)
}

/** A server is stopped once it prints how to stop it; other commands exit on their own. */
async function runForAMoment(t: TestContext, code: string): Promise<void> {
  const stopping = code.replace(
    /^(.*animal-adoption-store serve.*)$/m,
    '{ $1 & echo $! >pid; wait; } | while read -r line; do case $line in Stop*) kill $(cat pid);; esac; done',
  )
  await runShell(t, stopping)
}

function assertScripts(code: string): void {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const [, name = ''] of code.matchAll(/npm (?:run )?(\S+)/g)) {
    assert.ok(name in scripts || ['ci', 'install', 'pack'].includes(name), `npm ${name}`)
  }
}

function assertExcerpt(path: string, code: string): void {
  const file = readFileSync(join(ROOT, path), 'utf8')
  assert.ok(file.includes(code.trim()), `${path} does not contain this block:\n${code}`)
}

async function succeeds(command: string, words: string[], cwd: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(command, words, {
    cwd,
    env: { ...env, PATH: `${commands}:${env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const streams = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'exit')
  const [stdout, stderr] = await streams
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  return stdout
}
