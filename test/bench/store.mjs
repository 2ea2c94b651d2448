/**
 * The operations in process, compared with common storage libraries: list 20 by a common and by a
 * rare status, get one by id, create one. Every run is a fresh process.
 */
import { readArguments } from './harness/arguments.mjs'
import { stayOnOtherCores } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds } from './harness/rounds.mjs'
import { measureStore, STORES } from './stores/index.mjs'

const { rounds, only, sizes, seconds } = readArguments({
  rounds: 3,
  only: Object.keys(STORES),
  sizes: [1_000, 1_000_000],
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
  printTable(
    title,
    ['store', ...sizes.map(size => `N = ${size.toLocaleString('en')}`)],
    only.map(name => [name, ...sizes.map(size => figure(column(name, size)))]),
  )
}
console.log(`\nn/a: not built and measured within ${seconds} seconds.`)
