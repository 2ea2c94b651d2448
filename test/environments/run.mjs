// Runs the cases in every environment, and compares the table of the page with what ran: run.mjs <repository>. Needs the
// packages of package.json and the package itself in node_modules.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { editNext, runNext, runNitro } from './apps.mjs'
import { GROUPS } from './cases.mjs'
import { bundled, startSite } from './site.mjs'

const [repository] = process.argv.slice(2)
const isLong = process.env.ADOPTION_STORE_CHAOS === 'long'
const isRequired = process.env.ADOPTION_STORE_RUNTIMES === 'required'
const site = await startSite(join(repository, 'test/examples/offline-page'))
after(site.close)
const ADDRESS = `${site.origin}/v1`
const ENV = { ...process.env, ADDRESS }
const run = promisify(execFile)
const outcomes = {}
const left = []

/**
 * @param run returns the outcome, or several by the names of their environments
 * @param commands one of which it needs, and receives
 */
function environment(name, run, ...commands) {
  const command = commands.find(isOnPath) ?? (isRequired ? commands[0] : undefined)
  const skip = commands.length > 0 && command === undefined && `${commands[0]} is not on the PATH`
  if (skip) left.push(name)
  test(name, { skip, timeout: 300_000 }, async () => {
    const outcome = await run(command)
    const found = Object.entries(outcome.passed ? { [name]: outcome } : outcome)
    for (const [place, { passed }] of found) {
      outcomes[place] = GROUPS.map(group => (passed?.[group] > 0 ? 'yes' : ''))
    }
    const failures = ([place, { failed }]) => failed.map(text => `${place}: ${text}`)
    assert.deepEqual(found.flatMap(failures), [])
  })
}

function isOnPath(command) {
  return process.env.PATH.split(delimiter).some(folder => existsSync(join(folder, command)))
}

async function printed(command, words, env = ENV) {
  const { stdout } = await run(command, words, { env, maxBuffer: 10_000_000 })
  return JSON.parse(stdout.trim().split('\n').at(-1))
}

environment('Node', () => printed('node', ['program.mjs']))
environment('Bun', bun => printed(bun, ['program.mjs']), 'bun')
environment('Deno', deno => printed(deno, ['run', '--allow-all', 'program.mjs']), 'deno')
environment('workerd', runWorkerd, 'workerd')
const CHROMIUM = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0']
environment(
  'Chromium',
  command => runBrowser('Chromium', folder => [command, ...CHROMIUM, `--user-data-dir=${folder}`]),
  ...['chromium', 'chromium-browser', 'google-chrome'],
)
environment(
  'Firefox',
  command =>
    runBrowser('Firefox', folder => [command, '--headless', '--no-remote', '--profile', folder]),
  ...['firefox-esr', 'firefox'],
)
for (const name of ['node-fetch', 'node-fetch-2', 'cross-fetch', 'whatwg-fetch', 'undici']) {
  environment(name, () => printed('node', ['over-fetch.mjs', name]))
}
const BELOW_PREFIX = { ...ENV, ADDRESS: `${site.origin}/prefix/v1` }
environment('a stripped prefix', () => printed('node', ['over-fetch.mjs'], BELOW_PREFIX))

const PROJECTS = ['node', 'jsdom', 'jest-fixed-jsdom'].map(environment => [
  `Jest with ${environment}`,
  environment,
])
environment('Jest', async () => {
  // Jest requires.
  const suite = await bundled({
    entryPoints: ['suite.mjs'],
    platform: 'node',
    packages: 'external',
    format: 'cjs',
  })
  writeFileSync('environment.test.cjs', suite)
  const projects = PROJECTS.map(([NAME, testEnvironment]) => ({
    globals: { NAME },
    testEnvironment,
    testMatch: ['**/environment.test.cjs'],
    // As jest-fixed-jsdom, for packages with an entry for browsers.
    testEnvironmentOptions: { url: site.origin, customExportConditions: ['node'] },
  }))
  writeFileSync('jest.config.json', JSON.stringify({ projects }))
  await run('npx', ['jest', '--config=jest.config.json'], { env: ENV })
  return written(PROJECTS.map(([name]) => name))
})

const POOLS = ['forks', 'threads', 'vmThreads'].flatMap(pool =>
  ['node', 'jsdom', 'happy-dom'].map(environment => ({
    pool,
    environment,
    name: `vitest with ${environment} in ${pool}`,
  })),
)
environment('vitest', async () => {
  const projects = POOLS.map(({ name, ...options }) => ({
    test: {
      ...options,
      name,
      include: ['suite.mjs'],
      globals: true,
      env: { NAME: name, ADDRESS },
      environmentOptions: { jsdom: { url: site.origin }, happyDOM: { url: site.origin } },
    },
  }))
  writeFileSync('vitest.config.mjs', `export default ${JSON.stringify({ test: { projects } })}`)
  await run('npx', ['vitest', 'run'])
  return written(POOLS.map(({ name }) => name))
})

const BUNDLERS = {
  'esbuild to modules': out => esbuild(out, 'esm'),
  'esbuild to CommonJS': out => esbuild(out, 'cjs'),
  Rollup: async out => {
    const { rollup } = await import('rollup')
    const plugins = ['commonjs', 'json', 'node-resolve'].map(
      name => import(`@rollup/plugin-${name}`),
    )
    const bundle = await rollup({
      input: 'program.mjs',
      external: /^node:/,
      plugins: (await Promise.all(plugins)).map(plugin => plugin.default()),
      onwarn() {},
    })
    await bundle.write({ file: out, inlineDynamicImports: true })
  },
  webpack: async out => packed((await import('webpack')).default, out),
  Rspack: async out => packed((await import('@rspack/core')).rspack, out),
}
for (const [name, build] of Object.entries(BUNDLERS)) {
  environment(name, async () => {
    // Elsewhere, so that no file of the package is beside it.
    const folder = mkdtempSync(join(process.cwd(), '../bundle-'))
    const out = join(folder, /CommonJS|pack/.test(name) ? 'out.cjs' : 'out.mjs')
    await build(out)
    return printed('node', [out])
  })
}

environment('Next.js with Turbopack', () => runNext(ENV))
environment('Nitro', () => runNitro(ENV))
const skip = !isLong && 'a minute, each night'
test('next dev, with three edits', { skip }, () => editNext(ENV))

async function esbuild(out, format) {
  const options = { entryPoints: ['program.mjs'], platform: 'node', format }
  writeFileSync(out, await bundled(options))
}

async function packed(pack, out) {
  const settings = {
    mode: 'production',
    target: 'node',
    entry: './program.mjs',
    output: { path: join(out, '..'), filename: 'out.cjs' },
    context: process.cwd(),
  }
  const stats = await promisify(pack)(settings)
  assert.deepEqual(stats.toJson({ all: false, errors: true }).errors, [])
}

async function runWorkerd() {
  const conditions = ['workerd', 'browser']
  const cases = await bundled({ entryPoints: ['browser.mjs'], conditions })
  writeFileSync('cases.bundle.mjs', cases)
  writeFileSync(
    'worker.mjs',
    `import { run } from 'cases.mjs'
    export default { fetch: async () => Response.json(await run('${ADDRESS}')) }`,
  )
  writeFileSync(
    'config.capnp',
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = (
          modules = [
            (name = "worker.mjs", esModule = embed "worker.mjs"),
            (name = "cases.mjs", esModule = embed "cases.bundle.mjs"),
          ],
          compatibilityDate = "2026-01-01",
        )),
        (name = "internet", network = (allow = ["private", "public", "local"])),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );`,
  )
  const child = spawn('workerd', ['serve', 'config.capnp', '--control-fd=1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = await once(child.stdout, 'data')
    const { port } = JSON.parse(String(line).split('\n')[0])
    return { workerd: await (await fetch(`http://127.0.0.1:${port}`)).json() }
  } finally {
    child.kill('SIGKILL')
  }
}

/** The page of the site runs all, and reports. */
async function runBrowser(name, commandFor) {
  const folder = mkdtempSync(join(process.cwd(), 'profile-'))
  const reported = site.reported()
  const [command, ...words] = commandFor(folder)
  const env = { ...process.env, HOME: folder }
  const child = spawn(command, [...words, site.origin], { env, stdio: 'ignore' })
  try {
    const { offline, ...places } = await reported
    assert.deepEqual(offline, '1 Ada')
    const named = ([place, outcome]) => [`${name} ${place}`, outcome]
    return Object.fromEntries(Object.entries(places).map(named))
  } finally {
    child.kill('SIGKILL')
  }
}

function written(names) {
  return Object.fromEntries(
    names.map(name => [name, JSON.parse(readFileSync(`${name}.json`, 'utf8'))]),
  )
}

test('the table of the page is what ran', t => {
  if (left.length > 0) return t.skip(`without ${left}`)
  const page = readFileSync(join(repository, 'adapters/stores/indexeddb/README.md'), 'utf8')
  const claimed = {}
  for (const row of page.slice(page.indexOf('| where |')).trim().split('\n').slice(2)) {
    const [names, ...cells] = row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim())
    for (const name of names.split(', ')) claimed[name] = cells
  }
  assert.deepEqual(claimed, outcomes)
})
