/**
 * `npm run mutate -- [--seed n] [--count n] [--steps n] [--executed] [room…]`: draws small changes from the code of
 * the build, such as a comparison the other way round, and prints what notices each: the tests of its room, the
 * simulation, or neither. What neither notices is a test that is missing, or code that nobody needs. With `--executed`,
 * it draws only from code that a world executes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { parse } from 'acorn'
import { ancestor } from 'acorn-walk'
import { createRandom } from '../../dist/test/crash/random.js'
import { worldOf } from '../../dist/test/simulate/worlds.js'
import { copyBuild, node, planted, simulated } from './plant.mjs'

/** Each with the tests that are its own, and the worlds of the simulation that have it. */
const ROOMS = {
  'src/limits': ['limits', 'file'],
  'src/pets': ['pets', 'file'],
  'src/protocol': ['protocol', 'file'],
  'adapters/http': ['http', 'file'],
  'adapters/stores/json-file': ['stores/json-file', 'file'],
  'adapters/stores/kit': ['stores/kit', 'file', 'sqlite'],
  'adapters/stores/sqlite': ['stores/sqlite', 'sqlite'],
  'adapters/client': ['client', 'file'],
  'adapters/verdict': ['verdict', 'file', 'double'],
  'adapters/verdict/log': ['verdict/log', 'file', 'double'],
  'adapters/verdict/judge': ['verdict/judge', 'file'],
  'adapters/test-double': ['test-double', 'double'],
}

const SWAPPED = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&',
  '??': '&&',
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    steps: { type: 'string', default: '50000' },
    executed: { type: 'boolean', default: false },
  },
})
const worldsOf = room => ROOMS[room].slice(1)
const missingOf = room =>
  worldsOf(room)
    .map(world => worldOf(world).missing)
    .find(Boolean)
const rooms =
  positionals.length > 0 ? positionals : Object.keys(ROOMS).filter(room => !missingOf(room))
const unknown = rooms.find(room => !(room in ROOMS))
if (unknown) {
  console.error(`Unknown room ${unknown}; expected one of ${Object.keys(ROOMS).join(', ')}`)
  process.exit(2)
}
// A world that cannot run would seem to notice every change.
const missing = rooms.map(missingOf).find(Boolean)
if (missing) {
  console.error(`A world of these rooms cannot run: ${missing}`)
  process.exit(2)
}
const random = createRandom(Number(values.seed))
const folder = copyBuild()
const isExecuted = values.executed ? await executed() : () => true
const found = { tests: 0, simulation: 0, both: 0, neither: 0 }
console.log('| mutant | found by |\n|---|---|')
for (let count = 0; count < Number(values.count); count++) {
  const room = rooms[random(rooms.length)]
  const mutant = drawn(room)
  const by = await planted(
    folder,
    mutant.file,
    () => mutant.code,
    () => findersOf(room),
  )
  found[by]++
  console.log(`| ${mutant.name} | ${by} |`)
}
console.log(
  `\n${Object.entries(found)
    .map(([by, count]) => `${by}: ${count}`)
    .join(', ')}`,
)

/** Tells whether a world executes a place of a file, by V8's coverage. What runs on import does not count. */
async function executed() {
  const counts = join(folder, 'counts')
  process.env.NODE_V8_COVERAGE = counts
  for (const world of new Set(rooms.flatMap(worldsOf))) await simulated(folder, 1, 100_000, world)
  delete process.env.NODE_V8_COVERAGE
  const scripts = readdirSync(counts).flatMap(
    name => JSON.parse(readFileSync(join(counts, name), 'utf8')).result,
  )
  return (file, place) => {
    const { href } = pathToFileURL(join(folder, 'dist', file))
    return scripts.some(({ url, functions }) => {
      // The first one is the module.
      const ranges = url === href ? functions.slice(1).flatMap(({ ranges }) => ranges) : []
      const around = ranges.filter(one => one.startOffset <= place && place < one.endOffset)
      const length = ({ startOffset, endOffset }) => endOffset - startOffset
      return around.toSorted((one, other) => length(one) - length(other))[0]?.count > 0
    })
  }
}

async function findersOf(room) {
  const byTests = (await node(folder, ['test/run.mjs', ROOMS[room][0]])).code !== 0
  const bySimulation = await simulated(folder, 1, Number(values.steps), ...worldsOf(room))
  if (byTests && bySimulation) return 'both'
  if (byTests) return 'tests'
  return bySimulation ? 'simulation' : 'neither'
}

/** One change in one file of the room. */
function drawn(room) {
  const files = readdirSync(join(folder, 'dist', room), { recursive: true }).filter(file =>
    file.endsWith('.js'),
  )
  for (;;) {
    const file = join(room, files[random(files.length)])
    const code = readFileSync(join(folder, 'dist', file), 'utf8')
    const changes = changesOf(code).filter(({ start }) => isExecuted(file, start))
    if (changes.length === 0) continue
    const { start, end, to } = changes[random(changes.length)]
    const line = code.slice(0, start).split('\n').length
    const from = code.slice(start, end)
    const shown = `${file}:${line} \`${oneLine(from)}\` → \`${oneLine(to)}\``
    return { file, name: shown, code: code.slice(0, start) + to + code.slice(end) }
  }
}

function changesOf(code) {
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
