// Runs the built tests: `node test/run.mjs [all | beyond | name…] [-- option…]`.
// Without a name, the tests that need only Node; `beyond` are the others, and `all` is both. Other
// names are files or folders of test/, such as `client` or `limits/decide`; what follows `--` goes to
// Node.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Folders whose tests start engines, browsers or tools such as curl, or crash again and again; and
 * the files that try hundreds of servers, clients and schedules, minutes by themselves.
 */
const BEYOND_NODE = [
  'browser/',
  'client/shared.',
  'verify/correct-servers.',
  'verify/faults.',
  'verify/hostile.',
  'crash/',
  'engines/',
  'redis/',
  'runtimes/',
  'stores/indexeddb/',
  'stores/postgres/',
  'test-double/explore/clients.',
  'test-double/recording/processes.',
  'tools/',
  'verdict/judge/corpus.',
  'verdict/judge/proxy-corpus.',
]

/**
 * Quick tests by the beginnings of their paths: those of a row share a process, which takes 0.2 s of CPU to start
 * and to import the package. None of them has hooks for the tests of others, or leaves globals changed.
 */
const TOGETHER = [
  ['client/'],
  ['http/', 'hostile.'],
  ['lib/', 'limits/', 'pets/', 'protocol/'],
  ['pages/'],
  ['stores/json-file/'],
  ['stores/kit/', 'stores/memory.', 'stores/sqlite/'],
  ['cli/serve/'],
  ['cli/exec/report', 'cli/exec/through', 'cli/skill', 'cli/tools/', 'cli/usage'],
  ['verdict/judge/', 'verdict/log/'],
  ['verdict/unused', 'verdict/verdict'],
  ['test-double/explore/', 'test-double/recording/'],
  ['clock', 'control', 'fault', 'idem', 'journal', 'reset', 'test-', 'text', 'trickle', 'virt'].map(
    name => `test-double/${name}`,
  ),
  ['defaults.', 'errors.', 'events.', 'listeners.', 'names.', 'package.', 'pages.', 'types.'],
  ['properties.', 'purity.', 'regexes.', 'secrets.', 'snapshot.', 'store.'],
]

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const given = process.argv.slice(2)
const end = given.includes('--') ? given.indexOf('--') : given.length
const names = given.slice(0, end)

const tests = readdirSync(join(root, 'dist/test'), { recursive: true })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => path.endsWith('.test.js'))
  .filter(isChosen)
  .toSorted()
const unknown = names.find(name => !isGroup(name) && !tests.some(path => isNamed(path, name)))
if (unknown !== undefined) {
  console.error(`No test file of test/ begins with ${unknown}.`)
  process.exit(2)
}
// By default, Node leaves one core idle: half of a machine with two. One file more than there are cores fills
// the time in which others wait for sockets and processes.
const atOnce = availableParallelism() + 1
const isReported = given.slice(end + 1).some(option => option.startsWith('--test-reporter'))
const { status } = spawnSync(
  process.execPath,
  [
    ...['without-hooks', 'patient-servers'].flatMap(name => [
      '--require',
      join(root, 'test/support', `${name}.cjs`),
    ]),
    '--test',
    `--test-concurrency=${atOnce}`,
    ...(isReported ? [] : ['--test-reporter', './test/support/summary.mjs']),
    ...given.slice(end + 1),
    ...(names.length === 0 ? grouped(tests) : tests).map(path => join('dist/test', path)),
  ],
  { cwd: root, stdio: 'inherit' },
)
process.exit(status ?? 1)

function isChosen(path) {
  if (names.includes('all')) return true
  const isBeyond = BEYOND_NODE.some(start => path.startsWith(start))
  if (names.includes('beyond')) return isBeyond
  if (names.length > 0) return names.some(name => isNamed(path, name))
  return !isBeyond
}

function isGroup(name) {
  return name === 'all' || name === 'beyond'
}

function isNamed(path, name) {
  return `${path}/`.startsWith(name)
}

/** With one file in place of those that are run together. */
function grouped(paths) {
  const folder = 'together'
  mkdirSync(join(root, 'dist/test', folder), { recursive: true })
  const isIn = starts => path => starts.some(start => path.startsWith(start))
  const groups = TOGETHER.map(starts => {
    const file = `${folder}/${starts[0].replace(/\W+/g, '-')}.js`
    const imports = paths.filter(isIn(starts)).map(path => `import '../${path}'\n`)
    writeFileSync(join(root, 'dist/test', file), imports.join(''))
    return file
  })
  return [...groups, ...paths.filter(path => !TOGETHER.some(starts => isIn(starts)(path)))]
}
