/** What a suite of node:test pays for a double: the start of its process, and each of its tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { digits, figure, inRounds, quiet, ratios } from './harness/rounds.mjs'

const { rounds } = readArguments({ rounds: 15 })

const requestFor = count => `
  const response = await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
  assert.equal((await response.json()).length, ${count})`
const SEED = "await double.seed([{ name: 'Ada', categoryId: at }])"

const PLATFORM = `
  new Request('http://adoption-store.test/v1/pets', { headers: { authorization: 'Bearer demo-free' } })
  const response = new Response('[1]', { headers: { 'content-type': 'application/json', a: '1', b: '2' } })
  assert.equal((await response.json()).length, 1)`

/** What runs before each test, and in it. All processes import the double and create one. */
const SUITES = {
  'nothing, with a double imported': ['', ''],
  'a `Request` and a `Response` of Node': ['', PLATFORM],
  'a reset': ['double.reset()', ''],
  'a reset and a request': ['double.reset()', requestFor(0)],
  'a reset, an animal and a request': ['double.reset()', SEED + requestFor(1)],
}
const WITH_DOUBLE = `
  import { createTestDouble } from '${new URL('../../dist/adapters/test-double/index.js', import.meta.url)}'
  const double = createTestDouble()`
const SIZES = [1, 1_000, 5_000]
const NONE = 'nothing, and no double'

printSurroundings()
const results = await inRounds(rounds, [NONE, ...Object.keys(SUITES)], async name => {
  if (name === NONE) return { 1: await cpuOf(1, ''), 1000: await cpuOf(1_000, '') }
  const times = {}
  for (const size of SIZES) times[size] = await cpuOf(size, WITH_DOUBLE, ...SUITES[name])
  return times
})
printTable(
  'CPU time, least of all rounds',
  [
    'each test has',
    'a process with one test, ms',
    'with 1,000, ms',
    'per test up to 1,000, µs',
    'from there to 5,000, µs',
    'of the empty 1,000',
  ],
  [NONE, ...Object.keys(SUITES)].map(name => {
    const column = size => results.get(name).map(times => times[size])
    const [one, thousand, all] = SIZES.map(size => quiet(column(size)))
    const empty = results.get('nothing, with a double imported').map(times => times[1_000])
    return [
      name,
      digits(one),
      digits(thousand),
      digits(((thousand - one) / 999) * 1_000),
      Number.isFinite(all) ? digits(((all - thousand) / 4_000) * 1_000) : 'n/a',
      figure(ratios(column(1_000), empty)),
    ]
  }),
)

/** Of a process of its own, from its start to its end, in ms. */
async function cpuOf(size, imports, before = '', body = '') {
  const script = `
    import assert from 'node:assert/strict'
    import { beforeEach, test } from 'node:test'
    ${imports}
    beforeEach(() => { ${before} })
    for (let at = 0; at < ${size}; at++) {
      test('test ' + at, async () => {
        ${body}
      })
    }
    process.on('exit', () => {
      const { user, system } = process.cpuUsage()
      console.error((user + system) / 1_000)
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [output, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')])
  if (code !== 0) throw new Error(`The suite failed with ${code}`)
  return Number(output.join(''))
}
