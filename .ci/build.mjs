// Builds dist/: the modules, one of them with zod, the page of the console, CommonJS for Jest, and the bundled
// command line. With `--if-stale` only if a source or zod has changed since, as `npm install` and `npm start` do.
// With `--modules` without the bundles, which hide from coverage and mutants which module runs.
import { execSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Written last, so a build that was interrupted counts as none. */
const RESULT = 'dist/adapters/cli/main.cjs'
const STEPS = [
  'tsc',
  'node .ci/zod.mjs',
  'tsc -p adapters/console/page',
  'node adapters/console/page/build.mjs',
  ...(process.argv.includes('--modules')
    ? []
    : ['node .ci/commonjs.mjs', 'node adapters/cli/bundle.mjs']),
]

const ifStale = process.argv.includes('--if-stale')
if (!existsSync('node_modules/typescript')) {
  console.error('Cannot build animal-adoption-store: run `npm install` in the checkout first.')
  process.exit(1)
}
if (!ifStale || isStale()) {
  if (ifStale) console.error('Building from source; this takes some seconds …')
  build()
}

function build() {
  rmSync('dist', { recursive: true, force: true })
  try {
    for (const step of STEPS) execSync(step, { stdio: 'inherit' })
  } catch {
    // The step has printed why.
    process.exit(1)
  }
}

function isStale() {
  if (!existsSync(RESULT)) return true
  // npm does not date what it installs. The licence in the module begins with the version.
  const { version } = JSON.parse(readFileSync('node_modules/zod/package.json', 'utf8'))
  if (!readFileSync('dist/src/lib/zod.js', 'utf8').includes(`zod ${version}\n`)) return true
  const built = statSync(RESULT).mtimeMs
  return ['package.json', 'tsconfig.json', ...filesIn('src'), ...filesIn('adapters')].some(
    path => statSync(path).mtimeMs > built,
  )
}

function filesIn(folder) {
  // Folders too: they change when a file is deleted.
  return [folder, ...readdirSync(folder, { recursive: true }).map(path => join(folder, path))]
}
