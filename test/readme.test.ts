import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

/**
 * Every code block of the README is run as it stands. Its words after the fence say how: `js` as a
 * module, `js test` by the test runner, `sh` by a shell, `js server` and `sh server` with a server
 * beside it. Blocks of one's set-up (`npm install && …`) are what CI and this very run are.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAIN = join(ROOT, 'dist/adapters/cli/main.js')
const SETUP = ['npm install && npm start', 'npm install && npm test']

// Below the package, so that a block imports it by its own name, as a user does.
const modules = join(ROOT, 'dist/readme')
const commands = mkdtempSync(join(tmpdir(), 'adoption-readme-'))
mkdirSync(modules, { recursive: true })
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

for (const { line, how, code } of codeBlocks(readFileSync(join(ROOT, 'README.md'), 'utf8'))) {
  const title = `readme - the ${how} block at line ${line} runs`
  if (how === 'js') test(title, () => runModule(line, code))
  else if (how === 'js test') test(title, () => runModule(line, code, '--test'))
  else if (how === 'js server') test(title, t => runModuleBesideServer(t, line, code))
  else if (how === 'sh server') test(title, t => runBesideServer(t, code))
  else if (how === 'sh' && SETUP.includes(code.trim())) test(title, () => assertScript(code))
  else if (how === 'sh') test(title, async t => void (await runShell(t, code)))
  else throw new Error(`There is no way to run a block marked '${how}', at line ${line}`)
}

function codeBlocks(markdown: string): { line: number; how: string; code: string }[] {
  return [...markdown.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: how = '', 2: code = '' }) => ({
      line: markdown.slice(0, index).split('\n').length,
      how,
      code,
    }),
  )
}

async function runModule(line: number, code: string, ...flags: string[]): Promise<void> {
  const path = join(modules, `line-${line}.mjs`)
  writeFileSync(path, code)
  const folder = mkdtempSync(join(commands, 'run-'))
  await succeeds(process.execPath, [...flags, path], folder)
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

async function runModuleBesideServer(t: TestContext, line: number, code: string): Promise<void> {
  await runModule(line, await besideServer(t, code))
}

async function runBesideServer(t: TestContext, code: string): Promise<void> {
  const output = await runShell(t, await besideServer(t, code))
  for (const [answer, status] of output.matchAll(/^HTTP\/1\.1 (\d+).*$/gm)) {
    assert.ok(Number(status) < 400, answer)
  }
}

/** The code with the address of a server that runs until the test ends. */
async function besideServer(t: TestContext, code: string): Promise<string> {
  const flags = ['--port', '0', '--json', '-q', ...(code.includes('_control') ? ['--control'] : [])]
  const server = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => server.kill('SIGKILL'))
  const [ready] = await once(server.stdout, 'data')
  return code.replaceAll('127.0.0.1:4280', new URL(JSON.parse(String(ready)).origin).host)
}

function assertScript(code: string): void {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const name = code.trim().split(' ').at(-1) as string
  assert.equal(typeof scripts[name], 'string')
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
