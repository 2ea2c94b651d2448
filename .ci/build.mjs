// Builds dist/: the modules, one of them with zod, the page of the console, CommonJS for Jest, and the bundled
// command line, and the schema of its reports. With `--if-stale` only if a source or zod has changed since, as `npm install` and `npm start` do.
// With `--modules` without the bundles, which hide from coverage and mutants which module runs. With `--lint`, as
// `npm test` does, `npm run lint` runs at the same time.
import { exec } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Written last, so a build that was interrupted counts as none. It holds the version of zod. */
const RESULT = 'dist/built'

const run = promisify(exec)
const has = option => process.argv.includes(option)
if (!existsSync('node_modules/typescript')) {
  console.error('Cannot build animal-adoption-store: run `npm install` in the checkout first.')
  process.exit(1)
}
const { version } = read('node_modules/zod/package.json')
if (!has('--if-stale') || isStale()) {
  if (has('--if-stale')) console.error('Building from source; this takes some seconds …')
  if (!(await build())) process.exitCode = 1
}

/** True once every step has succeeded; a step comes after those that it needs. */
async function build() {
  rmSync('dist', { recursive: true, force: true })
  if (!(await allOf(['node adapters/pages/console/page/build.mjs']))) return false
  const isCompiled = await allOf([
    // Comments are for declarations, which editors show, and for the sources. The step that writes those checks the types.
    'tsc --declaration false --removeComments --noCheck',
    'tsc --emitDeclarationOnly',
    'tsc -p adapters/pages/console/page',
    ...(has('--lint') ? [read('package.json').scripts.lint] : []),
  ])
  if (!isCompiled || !(await allOf(['node .ci/bundled.mjs']))) return false
  await writeSchema()
  if (has('--modules')) return true
  if (!(await allOf(['node .ci/commonjs.mjs', 'node .ci/unpublished.mjs']))) return false
  writeFileSync(RESULT, version)
  return true
}

/** For readers of `exec --report`. */
async function writeSchema() {
  const { reportJsonSchema } = await import('../dist/adapters/cli/exec/report-file.js')
  writeFileSync('dist/report.schema.json', `${JSON.stringify(reportJsonSchema(), null, 2)}\n`)
}

/** Runs commands at once, and prints what each has printed when it ends. Whether all have succeeded. */
async function allOf(commands) {
  const ends = commands.map(async command => {
    const { code = 0, stdout, stderr } = await run(command, { maxBuffer: Infinity }).catch(e => e)
    process.stdout.write(stdout)
    process.stderr.write(stderr)
    return code
  })
  return (await Promise.all(ends)).every(code => code === 0)
}

function isStale() {
  if (!existsSync(RESULT) || readFileSync(RESULT, 'utf8') !== version) return true
  const built = statSync(RESULT).mtimeMs
  return ['package.json', 'tsconfig.json', ...filesIn('src'), ...filesIn('adapters')].some(
    path => statSync(path).mtimeMs > built,
  )
}

function filesIn(folder) {
  // Folders too: they change when a file is deleted.
  return [folder, ...readdirSync(folder, { recursive: true }).map(path => join(folder, path))]
}

function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
