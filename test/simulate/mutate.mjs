/**
 * `npm run mutate -- [--seed n] [--count n] [--steps n] [room…]`: draws small changes from the code that the simulation
 * executes, such as a comparison the other way round, and prints what notices each: the simulation, and the tests of
 * its room. What neither notices is a test that is missing, or code that nobody needs.
 *
 * `npm run mutate -- --kept`: plants the defects of `KEPT` instead, and fails if the simulation misses one.
 */
import { execFile } from 'node:child_process'
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
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { parse } from 'acorn'
import { ancestor } from 'acorn-walk'
import { createRandom } from '../../dist/test/crash/random.js'

/** Each with its own tests. */
const ROOMS = {
  'src/lib': 'lib',
  'src/limits': 'limits',
  'src/pets': 'pets',
  'src/protocol': 'protocol',
  'adapters/client': 'client',
  'adapters/stores/json-file': 'stores/json-file',
  'adapters/stores/kit': 'stores/kit',
}

/** Defects that the simulation has to find: file, code that stands in it once, and what replaces that. */
const KEPT = {
  'the journal is not synced': [
    'adapters/stores/json-file/journal.js',
    'await disk.fdatasync(own);',
    '',
  ],
  'a failed batch stays in the journal': [
    'adapters/stores/json-file/journal.js',
    'await disk.ftruncate(file, length);',
    '',
  ],
  'the document is written in place': [
    'adapters/stores/json-file/document.js',
    "temporary: join(lock.folder, 'document')",
    'temporary: path',
  ],
  'unfinished files of a dead process stay': [
    'adapters/stores/json-file/lock.js',
    'await disk.unlink(join(folder, name));',
    '{}',
  ],
  'the lock of a living process is taken over': [
    'adapters/stores/json-file/lock.js',
    'await isAlive(disk, owner)',
    'false',
  ],
  'a page begins with the last animal of the page before': [
    'adapters/stores/kit/pet-index.js',
    'pets.slice(start, start + limit)',
    'pets.slice(Math.max(0, start - 1), start - 1 + limit)',
  ],
  'the client repeats creates without a key': [
    'adapters/client/client.js',
    "method === 'GET' ||",
    'true ||',
  ],
}

const OPPOSITES = ['< <=', '> >=', '=== !==', '+ -', '&& ||'].map(pair => pair.split(' '))
const SWAPPED = Object.fromEntries([
  ['??', '&&'],
  ...OPPOSITES.flatMap(([one, other]) => [
    [one, other],
    [other, one],
  ]),
])

/** In MB, of which a sound program needs a tenth. */
const MOST_MEMORY = 1_500
/** In ms. */
const LONGEST_RUN = 300_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    steps: { type: 'string', default: '50000' },
    kept: { type: 'boolean', default: false },
  },
})
const unknown = positionals.find(room => !(room in ROOMS))
if (unknown) {
  console.error(`Unknown room ${unknown}; expected one of ${Object.keys(ROOMS).join(', ')}`)
  process.exit(2)
}
const folder = copyBuild()
const alone = await simulated()
if (alone) throw new Error(`Without a mutant, the simulation finds ${alone}`)
const mutants = values.kept ? Object.entries(KEPT).map(keptMutant) : await drawnMutants()
console.log('| mutant | simulation | tests |\n|---|---|---|')
for (const { name, room, file, code } of mutants) {
  const path = join(folder, 'dist', file)
  const before = readFileSync(path, 'utf8')
  writeFileSync(path, code)
  const found = await simulated()
  const isTested = room && (await node(['test/run.mjs', ROOMS[room]])).code !== 0
  writeFileSync(path, before)
  console.log(`| ${name} | ${found ?? '–'} | ${isTested ? 'yes' : '–'} |`)
  if (values.kept && !found) process.exitCode = 1
}

/** It is removed when the process ends. */
function copyBuild() {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const copy = mkdtempSync(join(tmpdir(), 'adoption-mutants-'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  for (const part of ['dist', 'test', 'adapters', 'src', 'package.json', 'README.md']) {
    const filter = path => !path.includes('node_modules')
    cpSync(join(root, part), join(copy, part), { recursive: true, filter })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** The invariant that a run of the simulation finds broken, and after how many events; undefined if it finds nothing. */
async function simulated(env = {}) {
  const program = [`--max-old-space-size=${MOST_MEMORY}`, 'dist/test/simulate/run.js']
  const { stdout, code, signal } = await node([...program, '--steps', values.steps], env)
  if (code === 0) return undefined
  const [, steps] = /: (\d+) steps in/.exec(stdout) ?? []
  const [, invariant] = /^([a-z]+\.[a-z]+): /m.exec(stdout) ?? []
  return invariant ? `${invariant} after ${steps}` : `ends with ${signal ?? code}`
}

async function node(args, env = {}) {
  const options = { cwd: folder, timeout: LONGEST_RUN, killSignal: 'SIGKILL', maxBuffer: Infinity }
  const run = promisify(execFile)(process.execPath, args, {
    ...options,
    env: { ...process.env, ...env },
  })
  const { stdout, code = 0, signal } = await run.catch(error => error)
  return { stdout, code, signal }
}

function keptMutant([name, [file, from, to]]) {
  const code = readFileSync(join(folder, 'dist', file), 'utf8')
  const places = code.split(from).length - 1
  if (places !== 1) throw new Error(`${name}: its code stands ${places} times in ${file}`)
  return { name, file, code: code.replace(from, () => to) }
}

/** As many from each room. */
async function drawnMutants() {
  const isExecuted = await executed()
  const random = createRandom(Number(values.seed))
  const rooms = positionals.length > 0 ? positionals : Object.keys(ROOMS)
  const changes = new Map(rooms.map(room => [room, filesOf(room).flatMap(changesOf)]))
  return Array.from({ length: Number(values.count) }, (_, at) => {
    const room = rooms[at % rooms.length]
    const all = changes.get(room)
    const [{ file, start, end, to }] = all.splice(random(all.length), 1)
    const code = readFileSync(join(folder, 'dist', file), 'utf8')
    const line = code.slice(0, start).split('\n').length
    const name = `${file}:${line} \`${oneLine(code.slice(start, end))}\` → \`${oneLine(to)}\``
    return { name, room, file, code: code.slice(0, start) + to + code.slice(end) }
  })

  function filesOf(room) {
    return readdirSync(join(folder, 'dist', room), { recursive: true })
      .filter(file => file.endsWith('.js'))
      .toSorted()
      .map(file => join(room, file))
  }

  function changesOf(file) {
    const code = readFileSync(join(folder, 'dist', file), 'utf8')
    const isMet = isExecuted(file)
    return changesIn(code).flatMap(change => (isMet(change.start) ? [{ file, ...change }] : []))
  }
}

/** Tells whether the simulation executes a place of a file, by V8's coverage. What runs on import does not count. */
async function executed() {
  const counts = join(folder, 'counts')
  await simulated({ NODE_V8_COVERAGE: counts })
  const [name] = readdirSync(counts)
  const { result } = JSON.parse(readFileSync(join(counts, name), 'utf8'))
  return file => {
    const { href } = pathToFileURL(join(folder, 'dist', file))
    // The first one is the module.
    const functions = result.find(({ url }) => url === href)?.functions.slice(1) ?? []
    const ranges = functions.flatMap(({ ranges }) => ranges)
    const length = ({ startOffset, endOffset }) => endOffset - startOffset
    const inner = ranges.toSorted((one, other) => length(one) - length(other))
    return place => inner.find(one => one.startOffset <= place && place < one.endOffset)?.count > 0
  }
}

function changesIn(code) {
  const changes = []
  const text = ({ start, end }) => code.slice(start, end)
  const add = ({ start, end }, to) => changes.push({ start, end, to })
  const swap = node => {
    const { left, operator, right } = node
    if (SWAPPED[operator]) add(node, `(${text(left)}) ${SWAPPED[operator]} (${text(right)})`)
  }
  ancestor(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
    BinaryExpression: swap,
    LogicalExpression: swap,
    IfStatement: ({ test }) => add(test, `!(${text(test)})`),
    ConditionalExpression: ({ test }) => add(test, `!(${text(test)})`),
    ExpressionStatement(node) {
      if (/Call|Await|Assignment/.test(node.expression.type)) add(node, ';')
    },
    ReturnStatement(node) {
      // Nothing changes in `return undefined` and `return void …`.
      if (node.argument && !/^(undefined$|void )/.test(text(node.argument)))
        add(node.argument, `void (${text(node.argument)})`)
    },
    Literal(node, _, parents) {
      if (/Import|Export/.test(parents.at(-2)?.type)) return
      if (typeof node.value === 'number') add(node, String(node.value + 1))
      if (typeof node.value === 'boolean') add(node, String(!node.value))
    },
  })
  return changes
}

function oneLine(text) {
  const line = text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
  return line.length > 60 ? `${line.slice(0, 59)}…` : line
}
