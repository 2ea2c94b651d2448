/** Heap bytes per animal, indexes included. */
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds } from './harness/rounds.mjs'
import { measureStore, STORES } from './stores/index.mjs'

const { rounds, only, size, seconds } = readArguments({
  rounds: 3,
  only: Object.keys(STORES),
  size: 1_000_000,
  seconds: 120,
})

printSurroundings(only.flatMap(name => STORES[name]))
const results = await inRounds(rounds, only, name => measureStore(name, size, seconds))
printTable(
  `bytes per animal at ${size.toLocaleString('en')} animals`,
  ['store', 'bytes'],
  only.map(name => [name, figure(results.get(name).map(run => run.bytes))]),
)
console.log(`\nn/a: not built and measured within ${seconds} seconds.`)
