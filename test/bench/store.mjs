/**
 * The operations in process, compared with common storage libraries: list 20 by a common and by a
 * rare status, get one by id, create one. Every run is a fresh process.
 */
import { readArguments } from './harness/arguments.mjs'
import { stayOnOtherCores } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { measureStore, STORES } from './stores/index.mjs'

const { rounds, only, sizes, seconds } = readArguments({
  rounds: 3,
  only: Object.keys(STORES),
  sizes: [1_000, 100_000, 1_000_000],
  seconds: 120,
})

const OPERATIONS = {
  common: 'list 20 of a common status (ns)',
  rare: 'list 20 of a rare status (ns)',
  get: 'get by id (ns)',
  create: 'create at this size (ns)',
}

stayOnOtherCores()
printSurroundings(only.flatMap(name => STORES[name]))
const runs = only.flatMap(name => sizes.map(size => `${name} ${size}`))
const results = await inRounds(rounds, runs, run => measureStore(...run.split(' '), seconds))
for (const [operation, title] of Object.entries(OPERATIONS)) {
  const column = (name, size) => results.get(`${name} ${size}`).map(run => run[operation])
  const cell = (name, size) => figure(column(name, size))
  const growth = name => figure(ratios(column(name, sizes.at(-1)), column(name, sizes[0])))
  const columns = [
    'store',
    ...sizes.map(size => `N = ${size.toLocaleString('en')}`),
    'last of first',
  ]
  printTable(
    title,
    columns,
    only.map(name => [name, ...sizes.map(size => cell(name, size)), growth(name)]),
  )
}
console.log(`\nn/a: not built and measured within ${seconds} seconds.`)
