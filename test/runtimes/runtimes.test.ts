import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { CHROMIUM } from '../browser/chromium.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { bundled } from './bundle.js'
import { runInChromium } from './in-chromium.js'
import type { run } from './program.js'
import { claimedFor } from './table.js'

type Outcome = Awaited<ReturnType<typeof run>>

const isRequired = process.env['ADOPTION_STORE_RUNTIMES'] === 'required'
const PRINT = `import { run } from './program.mjs'
console.log(JSON.stringify(await run()))`
/** Differences of a runtime, not of ours. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  // Its Request knows no unusual methods, and reads no stream twice.
  workerd: ['journal - redacts keys that are added later', 'judge - equal requests are known by'],
  // Its Request drops Origin, Host and Content-Length, and its fetch knows no port 1.
  chromium: [
    ...['toFetchHandler - a request rejected by its headers', 'toFetchHandler - an invalid Host'],
    ...['judge - other addresses pass', 'fetch auth.first - 429', 'fetch idempotency - the header'],
    // Its turns of the loop come in another order.
    'fetch cors - on:',
  ],
}

const ran: string[] = []
const isAnyMissing =
  CHROMIUM === undefined || ['bun', 'deno', 'workerd'].some(command => missing(command))

const program = bundled('runtimes/program.ts')
const expected = program.then(async text => {
  const module = `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
  return ((await import(module)) as { run: () => Promise<Outcome> }).run()
})

test('runtimes - Node without its own modules', async t => {
  await judge('node', await printed(t, process.execPath))
})

test('runtimes - Bun', { skip: missing('bun') }, async t => judge('bun', await printed(t, 'bun')))

test('runtimes - Deno', { skip: missing('deno') }, async t =>
  judge('deno', await printed(t, 'deno', 'run', '--allow-read')),
)

test('runtimes - workerd', { skip: missing('workerd') }, async t => {
  const folder = await folderWith(t, {
    'worker.mjs': `import { run } from 'program.mjs'
      export default { fetch: async () => Response.json(await run()) }`,
    'config.capnp': `using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (
        services = [(name = "main", worker = (
          modules = [
            (name = "worker.mjs", esModule = embed "worker.mjs"),
            (name = "program.mjs", esModule = embed "program.mjs"),
          ],
          compatibilityDate = "2026-01-01",
        ))],
        sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
      );`,
  })
  const options = ['serve', 'config.capnp', '--control-fd=1']
  const child = spawn('workerd', options, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const { port } = JSON.parse(String(line).split('\n')[0] as string)
  await judge('workerd', (await (await fetch(`http://127.0.0.1:${port}`)).json()) as Outcome)
})

test('runtimes - a page, a worker and a service worker in Chromium', {
  skip: CHROMIUM === undefined && !isRequired && 'Chromium is not installed',
}, async t => {
  const outcomes = await runInChromium(t, await program)
  for (const [place, outcome] of Object.entries(outcomes)) {
    await judge('chromium', outcome as Outcome, place)
  }
})

test('runtimes - the page claims what has run', {
  skip: isAnyMissing && 'some are missing',
}, () => {
  assert.deepEqual(claimedFor('test/runtimes/runtimes.test.ts'), ran)
})

async function judge(runtime: string, outcome: Outcome, place = runtime): Promise<void> {
  const { passed, failed, skipped, digest } = outcome
  const reference = await expected
  const isKnown = (text: string) => KNOWN[runtime]?.some(name => text.startsWith(name))
  const unknown = failed.filter(text => !isKnown(text))
  assert.deepEqual(unknown, [])
  const known = failed.filter(isKnown).length
  assert.equal(passed + known + skipped.length, reference.passed + reference.skipped.length)
  assert.equal(digest, reference.digest)
  ran.push(place)
}

/** Runs the program, which prints its outcome. */
async function printed(t: TestContext, command: string, ...given: string[]): Promise<Outcome> {
  const folder = await folderWith(t, { 'print.mjs': PRINT })
  const { stdout } = await promisify(execFile)(command, [...given, 'print.mjs'], { cwd: folder })
  return JSON.parse(stdout)
}

async function folderWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries({ ...files, 'program.mjs': await program })) {
    await writeFile(join(folder, name), text)
  }
  return folder
}

/** Why a runtime is skipped; false if it is there. */
function missing(command: string): string | false {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const isThere = isRequired || folders.some(folder => existsSync(join(folder, command)))
  return !isThere && `${command} is not on the PATH`
}
