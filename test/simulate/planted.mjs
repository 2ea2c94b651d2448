/**
 * `node test/simulate/planted.mjs [name…] [--seeds n] [--steps n]`: plants one defect after the other in a
 * copy of the build, and prints after how many events the simulation finds each, as the median over some seeds.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { DEFECTS } from './planted-defects.mjs'
import { SQLITE_DEFECTS } from './planted-sqlite-defects.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** Plants a defect, and returns what takes it out again. Throws if its line has changed. */
function plant(folder, { name, file, from, to }) {
  const path = join(folder, 'dist', file)
  const code = readFileSync(path, 'utf8')
  const places = code.split(from).length - 1
  if (places !== 1) throw new Error(`${name}: its code stands ${places} times in ${file}`)
  writeFileSync(
    path,
    code.replace(from, () => to),
  )
  return () => writeFileSync(path, code)
}

/** A copy of what the simulation needs of the build. */
function copyBuild() {
  const folder = mkdtempSync(join(tmpdir(), 'adoption-planted-'))
  for (const part of ['src', 'adapters', 'test/simulate', 'test/crash', 'test/sqlite']) {
    cpSync(join(ROOT, 'dist', part), join(folder, 'dist', part), { recursive: true })
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** In MB, of which a sound program needs a tenth. */
const MOST_MEMORY = 1_500
const LONGEST_RUN = 600_000

/**
 * After how many events a seed finds it, and by which invariant. A run that ends without naming one has
 * not: then `missed` says how it ended.
 */
async function find(folder, seed, steps, world = 'file') {
  const program = join(folder, 'dist/test/simulate/run.js')
  const asked = ['--seed', seed, '--steps', steps, '--world', world]
  const given = [`--max-old-space-size=${MOST_MEMORY}`, program, ...asked]
  const options = { cwd: folder, timeout: LONGEST_RUN, killSignal: 'SIGKILL' }
  const {
    stdout,
    code = 0,
    signal,
  } = await run(process.execPath, given.map(String), options).catch(error => error)
  if (code === 0) return { missed: 'not found' }
  const [, count] = /: (\d+) steps in/.exec(stdout) ?? []
  const [, invariant] = /^([a-z]+\.[a-z]+): /m.exec(stdout) ?? []
  if (invariant === undefined) return { missed: `ended with ${signal ?? code}` }
  // The last world goes on to its end.
  if (Number(count) > steps) return { missed: 'not found' }
  return { steps: Number(count), invariant }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '3' },
      steps: { type: 'string', default: '200000' },
    },
  })
  const chosen = [...DEFECTS, ...SQLITE_DEFECTS].filter(
    ({ name }) => positionals.length === 0 || positionals.some(part => name.includes(part)),
  )
  if (chosen.length === 0) throw new Error(`No defect is named ${positionals.join(' or ')}`)
  const folder = copyBuild()
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  console.log('| defect | found by | median of events | most |\n|---|---|---|---|')
  const seeds = Array.from({ length: Number(values.seeds) }, (_, at) => at + 1)
  let missed = 0
  for (const defect of chosen) {
    const takeOut = plant(folder, defect)
    const count = Number(values.steps)
    const found = await Promise.all(seeds.map(seed => find(folder, seed, count, defect.world)))
    takeOut()
    if (found.some(one => one.missed)) missed++
    console.log(lineOf(defect, found))
  }
  console.log(
    `\n${chosen.length - missed} of ${chosen.length} defects were found by each of ${values.seeds} seeds within ${values.steps} events.`,
  )
  if (missed > 0) process.exitCode = 1
}

function lineOf({ name }, found) {
  const steps = found.map(one => one.steps ?? Infinity).toSorted((a, b) => a - b)
  const by = [...new Set(found.map(({ invariant, missed }) => invariant ?? missed))].join(', ')
  const shown = [steps[steps.length >> 1], steps.at(-1)].map(count =>
    count === Infinity ? '–' : count,
  )
  return `| ${name} | ${by} | ${shown.join(' | ')} |`
}

await main()
