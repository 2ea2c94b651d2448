import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { storageSuite } from '../adapters/stores/kit/suite.js'
import { memoryStorage } from '../adapters/stores/memory.js'
import { firstOutput } from './support/first-output.js'
import { BUILD_URL, MAIN, ROOT } from './support/paths.js'

const run = promisify(execFile)
const { NODE_TEST_CONTEXT: _, ...OWN } = process.env
const WITHOUT_HOOKS = join(ROOT, 'test/support/without-hooks.cjs').replaceAll('\\', '/')
const ENV = { ...OWN, NODE_OPTIONS: `--require "${WITHOUT_HOOKS}"` }

// Below the package and without their manifests, so that they import it by its name uninstalled.
const copies = mkdtempSync(fileURLToPath(new URL('examples-', BUILD_URL)))
after(() => rmSync(copies, { recursive: true }))
cpSync(join(ROOT, 'test/examples'), copies, {
  recursive: true,
  filter: path => !['package.json', 'node_modules'].includes(basename(path)),
})

test('examples - the web app shows the animals and serves the API', async t => {
  const [command, ...words] = script('web-app', 'start')
  const app = spawn(command, words, {
    cwd: join(copies, 'web-app'),
    env: { ...ENV, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => app.kill())
  const address = await firstOutput(app)
  const get = (path: string, headers = {}) => fetch(new URL(path, address), { headers })

  assert.match(await (await get('/')).text(), /<li>Ada<\/li><li>Rex &#38; Tom<\/li>/)
  assert.equal((await get('/elsewhere')).status, 404)
  assert.equal((await get('/v1/pets')).status, 401)
  const listed = await get('/v1/pets', { authorization: 'Bearer s3cret' })
  assert.equal(((await listed.json()) as unknown[]).length, 2)
})

test('examples - the tests of the client pass', async () => {
  assert.match(await passing('client-test'), /^[#ℹ] pass 5$/m)
})

test('examples - the storage keeps its contract', async () => {
  let cases = 0
  storageSuite(() => cases++, { create: memoryStorage, reopen: async s => s, idempotency: true })
  assert.match(await passing('own-storage'), new RegExp(`^[#ℹ] pass ${cases}$`, 'm'))
})

test('examples - the tests of the workflow pass, and leave a verdict', async () => {
  assert.match(await passing('ci-workflow'), /^[#ℹ] pass 2$/m)
  const verdict = readFileSync(join(copies, 'ci-workflow/verdict.xml'), 'utf8')
  assert.match(verdict, /<testsuites?\b[^>]*\bfailures="0"/)
  const workflow = readFileSync(join(ROOT, 'test/examples/ci-workflow/workflow.yml'), 'utf8')
  assert.match(workflow, /- run: npm test\n/)
  // The command that the workflow prints for its recording.
  const [, replay = ''] = /^# {3}npx animal-adoption-store (.*)$/m.exec(workflow) ?? []
  const cwd = join(copies, 'ci-workflow')
  const words = [MAIN, ...replay.split(' '), '--check']
  assert.match((await run(process.execPath, words, { cwd, env: ENV })).stdout, /all as recorded/)
})

test('examples - the tests of the client that registers once pass, and exploring it fails', async () => {
  assert.match(await passing('explore'), /^[#ℹ] pass 6$/m)
  const [command, ...words] = script('explore', 'explore')
  const exploring = run(command, words, { cwd: join(copies, 'explore'), env: ENV })
  const { code, stdout } = await exploring.then(
    () => assert.fail('it should fail'),
    (error: { code: number; stdout: string }) => error,
  )
  const page = readFileSync(join(ROOT, 'adapters/test-double/explore/README.md'), 'utf8')
  const [first = '', more] = stdout.split('\ncreatePet#1=status:503 ')
  assert.equal(code, 1)
  assert.ok(more)
  assert.ok(page.includes(first), first)
})

async function passing(example: string): Promise<string> {
  const [command, ...words] = script(example, 'test')
  return (await run(command, words, { cwd: join(copies, example), env: ENV })).stdout
}

/** The words of a script of an example, with the programs of this checkout. */
function script(example: string, name: string): [command: string, ...words: string[]] {
  const manifest = readFileSync(join(ROOT, 'test/examples', example, 'package.json'), 'utf8')
  const words: string[] = JSON.parse(manifest).scripts[name].split(' ')
  const node = [process.execPath]
  const [command = '', ...rest] = words.flatMap(word => {
    if (word === 'node') return node
    return word === 'animal-adoption-store' ? [...node, MAIN] : word
  })
  return [command, ...rest]
}
