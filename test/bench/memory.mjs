/** What an animal takes of the heap, with whatever index the store keeps. */
import { readArguments } from './shared/arguments.mjs'
import { result } from './shared/children.mjs'
import { printSurroundings, printTable } from './shared/report.mjs'
import { figure, inRounds } from './shared/rounds.mjs'
import { STORES } from './stores/index.mjs'

const { rounds, only, size } = readArguments({
  rounds: 3,
  only: Object.keys(STORES),
  size: 1_000_000,
})

printSurroundings(only.flatMap(name => STORES[name]))
const results = await inRounds(rounds, only, name =>
  result(['--expose-gc', '--max-old-space-size=8192', 'stores/measure.mjs', name, String(size)]),
)
printTable(
  `bytes per animal at ${size.toLocaleString('en')} animals`,
  ['store', 'bytes'],
  only.map(name => [name, figure(results.get(name).map(run => run.bytes))]),
)
