/**
 * `npm run mutate [-- part… [--every n] [--workers n]]`: changes the built program in one place at a
 * time, runs the tests of that part, and prints the changes that they did not notice, and for each
 * file and group how many they did. Parts are names of files or folders, such as `rate-limit.js` or
 * `verdict/`; all without one. `--every 10` tries one change in ten.
 */
import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { EQUIVALENT } from './equivalent.mjs'
import { FAILED } from './first-failure.mjs'
import { mutantsOf } from './mutants.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What each part is tested by, likely failures first. */
const TESTS = [
  [/src\/limits\//, ['limits/memory', 'limits/properties', 'limits/decide']],
  [/src\/lib\/(int64|json)\./, ['lib/json', 'protocol/protocol']],
  [
    /src\//,
    [
      'lib/options',
      'protocol/api-keys',
      'protocol/body',
      'protocol/rate-limit-http',
      'store',
      'protocol/admission',
      'events',
      'memory',
      'limits/memory',
      'protocol/protocol',
      'pets/schema',
    ],
  ],
  [/verdict\//, ['test-double/verdict-rules', 'test-double/verdict']],
  [/control\//, ['test-double/control']],
  [/callers\./, ['exchanges/callers', 'test-double/journal', 'test-double/verdict']],
  [
    /(clock|run)\./,
    [
      'test-double/virtual-clock',
      'test-double/clock-sleep',
      'test-double/fake-timers',
      'test-double/test-double',
    ],
  ],
  [
    /exchanges\//,
    ['exchanges', 'test-double/journal', 'test-double/test-double', 'test-double/verdict'],
  ],
  [
    /(faults|inject-fault|fetch)\./,
    ['test-double/faults', 'test-double/clock-sleep', 'test-double/test-double'],
  ],
  [
    /(double|state)\./,
    [
      'test-double/reset',
      'snapshot',
      'test-double/faults',
      'test-double/clock-sleep',
      'test-double/journal',
      'test-double/verdict',
      'test-double/test-double',
      'test-double/control',
    ],
  ],
  [
    /test-double\//,
    ['snapshot', 'test-double/reset', 'test-double/test-double', 'test-double/control'],
  ],
]

const GROUPS = [
  ['core', 'dist/src/'],
  ['verdict', 'dist/adapters/verdict/'],
  ['double', 'dist/adapters/test-double/'],
  ['exchanges', 'dist/adapters/exchanges/'],
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' }, workers: { type: 'string', default: '2' } },
})

const possible = ['dist/src/', 'dist/adapters/exchanges/', 'dist/adapters/test-double/']
  .flatMap(filesIn)
  .filter(file => positionals.length === 0 || positionals.some(part => file.includes(part)))
  .flatMap(mutantsIn)
const mutants = possible
  .filter(mutant => !EQUIVALENT.some(known => isOf(known, mutant)))
  .filter((_, at) => at % Number(values.every) === 0)

const results = []
const copies = new Set()
const children = new Set()
let next = 0
process.on('exit', cleanUp)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
if (positionals.length === 0) reportOutdated()
await Promise.all(Array.from({ length: Number(values.workers) }, work))
report()

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .filter(name => name.endsWith('.js') && !name.endsWith('index.js') && name !== 'lib/zod.js')
    .map(name => folder + name)
    .toSorted()
}

function mutantsIn(file) {
  const code = readFileSync(join(ROOT, file), 'utf8')
  return mutantsOf(code).map(({ start, end, text, what }) => {
    const mutated = code.slice(0, start) + text + code.slice(end)
    const line = code.slice(0, start).split('\n').length
    const changed = code.slice(start, end).replace(/\s+/g, ' ').replace(/;$/, '')
    const change = `${changed}: ${what}`
    return { file, code, mutated, start, end, line, change }
  })
}

async function work() {
  const copy = mkdtempSync(join(tmpdir(), 'adoption-mutate-'))
  copies.add(copy)
  cpSync(ROOT, copy, {
    recursive: true,
    filter: path =>
      !/^(node_modules|\.git|test\/bench\/node_modules)(\/|$)/.test(relative(ROOT, path)),
  })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const limits = new Map()
  for (let mutant = mutants[next++]; mutant; mutant = mutants[next++]) {
    const { file, code, mutated } = mutant
    const [, tests] = TESTS.find(([part]) => part.test(file))
    if (!limits.has(tests)) limits.set(tests, await timeLimit(copy, tests))
    writeFileSync(join(copy, file), mutated)
    const noticed = await isNoticed(copy, tests, limits.get(tests))
    writeFileSync(join(copy, file), code)
    results.push({ ...mutant, noticed })
    if (!noticed) {
      const text = code.split('\n')[mutant.line - 1].trim()
      console.log(`${file}:${mutant.line}\n  ${text}\n  ${mutant.change}`)
    }
  }
}

/** A crash without a failing test counts if it happens again: Node 20's `fetch` has one of its own. */
async function isNoticed(copy, tests, limit) {
  const code = await run(copy, tests, limit)
  if (code === 0 || code === FAILED || code === null) return code !== 0
  return (await run(copy, tests, limit)) !== 0
}

/** How long to wait, as a change can make a test wait forever. Tries again on a busy machine. */
async function timeLimit(copy, tests) {
  for (let attempt = 0; attempt < 3; attempt++) {
    const start = performance.now()
    if ((await run(copy, tests)) === 0) return 5_000 + 2 * (performance.now() - start)
  }
  throw new Error(`${tests.join(', ')} fail without any change`)
}

/** The exit code of the first test file that fails, otherwise 0; null after `limit`. */
async function run(copy, tests, limit = 120_000) {
  const end = performance.now() + limit
  for (const name of tests) {
    const code = await runFile(copy, name, end - performance.now())
    if (code !== 0) return code
  }
  return 0
}

/** Ends at the first failure. Each file has a process of its own: together they crash Node 20. */
function runFile(copy, name, limit) {
  const reporter = '--test-reporter=./test/mutate/first-failure.mjs'
  return new Promise(resolve => {
    const child = spawn(process.execPath, [reporter, `./dist/test/${name}.test.js`], {
      cwd: copy,
      stdio: 'ignore',
      detached: true,
    })
    children.add(child.pid)
    const timer = setTimeout(() => child.kill('SIGKILL'), limit)
    child.on('exit', code => {
      clearTimeout(timer)
      endGroup(child.pid)
      resolve(code)
    })
  })
}

/** Also ends the processes that a failed test has left. */
function endGroup(pid) {
  children.delete(pid)
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {}
}

function cleanUp() {
  for (const pid of children) endGroup(pid)
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
}

function report() {
  printScores(({ file }) => file)
  printScores(({ file }) => GROUPS.find(([, folder]) => file.startsWith(folder))[0])
  printScores(() => 'in all')
}

function isOf({ file, code, changes }, mutant) {
  if (mutant.file !== `dist/${file.replace(/\.ts$/, '.js')}`) return false
  return changes.includes(mutant.change) && isWithin(mutant, squeezed(code))
}

/** Whether a change is made inside a piece of code, however either of them is laid out. */
function isWithin({ code, start, end }, piece) {
  const program = squeezed(code)
  const from = squeezed(code.slice(0, start)).length
  const to = squeezed(code.slice(0, end)).length
  for (let at = program.indexOf(piece); at >= 0; at = program.indexOf(piece, at + 1)) {
    if (at <= from && to <= at + piece.length) return true
  }
  return false
}

/** Without what a formatter or the compiler adds. */
function squeezed(code) {
  return code.replace(/[\s;]+/g, '').replace(/,(?=[)\]}])/g, '')
}

/** Before the tests run: whoever changes the code sees at once which entries to correct. */
function reportOutdated() {
  for (const known of EQUIVALENT) {
    for (const change of known.changes) {
      if (possible.some(mutant => isOf({ ...known, changes: [change] }, mutant))) continue
      console.log(`Outdated in equivalent.mjs: ${known.file}\n  ${known.code}\n  ${change}`)
    }
  }
}

function printScores(nameOf) {
  for (const name of [...new Set(results.map(nameOf))].toSorted()) {
    const own = results.filter(result => nameOf(result) === name)
    const noticed = own.filter(result => result.noticed).length
    const share = ((100 * noticed) / own.length).toFixed(1)
    console.log(`${share.padStart(5)} %  ${noticed} of ${own.length}  ${name}`)
  }
}
