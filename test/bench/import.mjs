/** Time to `import` in a fresh process, and what that loads. */
import { readArguments } from './harness/arguments.mjs'
import { result, stayOnOtherCores } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'

const MODULES = {
  zod: 'zod',
  'ours, the core': '../../../dist/src/index.js',
  'ours, core and memory and http': [
    '../../../dist/src/index.js',
    '../../../dist/adapters/memory.js',
    '../../../dist/adapters/http/index.js',
  ].join(),
  lowdb: 'lowdb/node',
  fastify: 'fastify',
  hono: 'hono',
  express: 'express',
  '@msw/data': '@msw/data',
  nedb: '@seald-io/nedb',
  lokijs: 'lokijs',
}
const { rounds } = readArguments({ rounds: 11 })

stayOnOtherCores()
printSurroundings([
  'zod',
  'lowdb',
  'fastify',
  'hono',
  'express',
  '@msw/data',
  '@seald-io/nedb',
  'lokijs',
])
const names = Object.keys(MODULES)
const results = await inRounds(rounds, names, name =>
  result(['harness/import-one.mjs', MODULES[name]]),
)
const base = results.get('zod').map(run => run.ms)
printTable(
  'import',
  ['module', 'ms', 'of zod', 'MiB added', 'packages', 'node:http'],
  names.map(name => {
    const runs = results.get(name)
    const column = field => runs.map(run => run[field])
    const ms = column('ms')
    const { packages, http } = runs[0]
    const added = figure(column('added'))
    return [name, figure(ms), figure(ratios(ms, base)), added, packages.length, http]
  }),
)
const loaded = results.get('ours, the core')[0].packages
console.log(`\nImporting our core loads ${loaded.join(', ') || 'nothing'}.`)
