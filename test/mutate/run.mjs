/**
 * `npm run mutate [-- part… [--every n] [--workers n]]`: changes the built program in one place at a
 * time, runs the tests of that part, and prints for each file how many changes they noticed, and
 * the changes that they did not. Parts are names of files or folders, such as `rate-limit.js` or
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
import { mutantsOf } from './mutants.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What each part is tested by, quick files first: most changes are noticed by the first few. */
const CORE = ['options', 'api-keys', 'admission', 'events', 'store', 'memory', 'protocol']
const DOUBLE = ['faults', 'virtual-clock', 'test-double', 'control']
const TESTS = [
  [
    /src\/(memory-)?rate-limit/,
    ['memory-rate-limits', 'admission', 'rate-limit-properties', 'rate-limit'],
  ],
  [
    /src\/(int64|json|utf8|body|model|pet)\./,
    ['json', 'admission', 'store', 'model', 'protocol', 'properties'],
  ],
  [/src\//, CORE],
  [/verdict\//, ['verdict']],
  [/test-double\//, DOUBLE],
]

/** A change can make a test wait for ever. */
const TIMEOUT = 60_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' }, workers: { type: 'string', default: '2' } },
})

const mutants = ['dist/src/', 'dist/adapters/test-double/']
  .flatMap(filesIn)
  .filter(file => positionals.length === 0 || positionals.some(part => file.includes(part)))
  .flatMap(file => {
    const code = readFileSync(join(ROOT, file), 'utf8')
    return mutantsOf(code).map(mutant => ({ ...mutant, file, code }))
  })
  .filter((_, at) => at % Number(values.every) === 0)

const survivors = []
const tally = new Map()
let next = 0
await Promise.all(Array.from({ length: Number(values.workers) }, work))
report()

async function work() {
  const copy = mkdtempSync(join(tmpdir(), 'adoption-mutate-'))
  try {
    cpSync(ROOT, copy, {
      recursive: true,
      filter: path =>
        !/^(node_modules|\.git|test\/bench\/node_modules)(\/|$)/.test(relative(ROOT, path)),
    })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    for (let mutant = mutants[next++]; mutant; mutant = mutants[next++]) {
      const { file, code, start, end, text } = mutant
      writeFileSync(join(copy, file), code.slice(0, start) + text + code.slice(end))
      const noticed = await isNoticed(copy, file)
      writeFileSync(join(copy, file), code)
      count(mutant, noticed)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

async function isNoticed(copy, file) {
  const [, tests] = TESTS.find(([part]) => part.test(file))
  for (const test of tests) if (!(await passes(copy, `dist/test/${test}.test.js`))) return true
  return false
}

function passes(copy, test) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [test], { cwd: copy, stdio: 'ignore', detached: true })
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), TIMEOUT)
    child.on('exit', code => {
      clearTimeout(timer)
      resolve(code === 0)
    })
  })
}

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .filter(name => name.endsWith('.js') && !name.endsWith('index.js'))
    .map(name => folder + name)
    .toSorted()
}

function count(mutant, noticed) {
  const { noticed: before, total } = tally.get(mutant.file) ?? { noticed: 0, total: 0 }
  tally.set(mutant.file, { noticed: before + Number(noticed), total: total + 1 })
  if (!noticed) survivors.push(mutant)
}

function report() {
  for (const { file, code, start, what } of survivors.toSorted(byPlace)) {
    const line = code.slice(0, start).split('\n').length
    console.log(`${file}:${line}  ${what}:  ${code.split('\n')[line - 1].trim()}`)
  }
  const total = [...tally.values()].reduce((sum, file) => sum + file.total, 0)
  for (const [file, { noticed, total }] of [...tally].toSorted()) {
    console.log(`${percent(noticed, total)}  ${noticed} of ${total}  ${file}`)
  }
  console.log(
    `${percent(total - survivors.length, total)}  ${total - survivors.length} of ${total}  in all`,
  )
}

function byPlace(a, b) {
  return a.file === b.file ? a.start - b.start : a.file < b.file ? -1 : 1
}

function percent(part, whole) {
  return `${((100 * part) / whole).toFixed(1)} %`.padStart(7)
}
