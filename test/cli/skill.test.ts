import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { helpText } from '../../adapters/cli/help.js'
import { RULES } from '../../adapters/test-double/index.js'
import { borrowedCommand } from '../support/borrowed-command.js'
import { runInThread } from '../support/command.js'
import { blocksOf } from '../support/pages.js'
import { MAIN, ROOT } from '../support/paths.js'
import { served } from '../support/served.js'

const PATH = 'adapters/cli/animal-adoption-store/SKILL.md'
const page = readFileSync(join(ROOT, PATH), 'utf8')
const project = mkdtempSync(join(tmpdir(), 'adoption-skill-'))
after(() => rmSync(project, { recursive: true }))

/** A polite client and its test, in the place of `npm test`. */
const TEST = `
const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
async function send(method, body, more) {
  for (let pause = 50; pause < 1_000; pause *= 2) {
    let wait = pause
    try {
      const response = await fetch(url + '/pets', { method, body, headers: { ...headers, ...more } })
      if (response.ok) return await response.json()
      wait = 1_000 * Number(response.headers.get('retry-after')) || pause
    } catch {}
    await sleep(wait)
  }
}
await send('POST', '{"name":"Ada","categoryId":1}', { 'idempotency-key': crypto.randomUUID() })
const animals = await send('GET')
if (animals.length !== 1) process.exit(3)
`

// Not where a shell or the names of its commands differ.
const skip = process.platform === 'win32'

test('skill - its commands run, and a client that follows it passes them', { skip }, async () => {
  const quoted = borrowedCommand(TEST).map(word => `'${word.replaceAll("'", `'\\''`)}'`)
  const commands = blocksOf(PATH, 'sh test=test/cli/skill.test.ts').join('').trim().split('\n')
  assert.equal(commands.length, 6)
  for (const command of commands) {
    // Without --idempotency, the lost create of the bad run is stored twice, which is what diff shows.
    const { code, output } = await shell(command.replace('npm test', () => quoted.join(' ')))
    const isBad = command.includes('--schedule') || command.includes(' diff ')
    assert.equal(code === 0, !isBad, `${command}\n${output}`)
  }
  const { ok, runs } = JSON.parse(readFileSync(join(project, 'report.json'), 'utf8'))
  assert.deepEqual([ok, runs > 5], [true, true])
})

test('skill - it is short, names every rule, and only options that exist', () => {
  const [, name, description = ''] =
    /^---\nname: ([a-z-]+)\ndescription: (.+)\n---\n/.exec(page) ?? []
  assert.equal(name, 'animal-adoption-store')
  assert.ok(description.length < 1_024)
  assert.ok(page.split(/\s+/).length <= 1_200, `${page.split(/\s+/).length} words`)
  for (const { id } of RULES) assert.ok(page.includes(`\n| \`${id}\` |`), id)
  const help = helpText('exec') + helpText('replay')
  const flags = new Set(page.match(/(?<![\w-])--[a-z][a-z-]+/g))
  assert.ok(flags.size > 8)
  for (const flag of flags) assert.match(help, new RegExp(`${flag}\\b`), flag)
})

test('skill - the command prints it, and a server has it as /llms.txt', async t => {
  assert.equal((await runInThread(['skill'])).stdout, page)
  const { origin } = (await served(t, ['-q'])).ready
  const response = await fetch(`${origin}/llms.txt`)
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  const text = await response.text()
  assert.match(
    text,
    /^# Repair a client of [^\n]*\n\n> Finds what an HTTP client [^\n]*\n\n`exec` starts /,
  )
  assert.ok(text.includes(page.slice(-500)))
  for (const [, path] of text.matchAll(/^- \[.*\]\((.*)\)/gm)) {
    assert.equal((await fetch(`${origin}${path}`)).status, 200, path)
  }
  const { llms } = (await (await fetch(origin)).json()) as { llms?: string }
  assert.equal(llms, '/llms.txt')
})

test('skill - exec serves it beside the description of the API, and neither counts as a request', async () => {
  const script = `const { origin } = new URL(process.env.ADOPTION_STORE_BASE_URL)
    const { info } = await (await fetch(origin + '/openapi.json')).json()
    const llms = await (await fetch(origin + '/llms.txt')).text()
    if (!info.title || !llms.startsWith('# Repair')) process.exit(7)`
  const { code, stderr } = await runInThread(['exec', '--strict', '--', ...borrowedCommand(script)])
  assert.equal(code, 1)
  assert.match(stderr, /^Verdict: no requests arrived/)
})

function shell(command: string): Promise<{ code: number; output: string }> {
  const main = `'${process.execPath}' '${MAIN}'`
  const words = ['-c', command.replace('npx animal-adoption-store', main)]
  return new Promise(resolve =>
    execFile('/bin/sh', words, { cwd: project }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    ),
  )
}

test('skill - the help of exec, whose store starts empty, does not speak of demo animals', () => {
  assert.doesNotMatch(helpText('exec'), /demo (animals|data)|--empty/)
  assert.match(helpText('serve'), /demo animals/)
})
