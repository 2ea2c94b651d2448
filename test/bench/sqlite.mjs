/**
 * CPU time per durable create over SQLite: ours against better-sqlite3 with WAL and `synchronous = FULL`,
 * written by hand, with a transaction each or, for many callers, a shared one. All are in one process and
 * take turns. A figure is the minimum of the slices, as neighbours on the machine only ever add to it.
 * "The same again" is a second file of the program by hand, and shows what the noise is. Files are created
 * below `TMPDIR`: on `/dev/shm`, which is memory, the kernel and the disk add little.
 */
import { readArguments } from './harness/arguments.mjs'
import { result } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { digits, ratios } from './harness/rounds.mjs'

const { slices, creates, size, runs } = readArguments({
  slices: 100,
  creates: 128,
  size: 10_000,
  runs: 3,
})
const ENGINES = ['ours-sqlite', 'sqlite-each', 'sqlite-each-again', 'sqlite']
const LABELS = {
  'ours-sqlite': 'ours',
  'sqlite-each': 'a transaction each',
  'sqlite-each-again': 'the same again',
  sqlite: 'a shared one',
}

printSurroundings(['better-sqlite3'])
const rows = []
for (let run = 1; run <= runs; run++) {
  for (const callers of [1, 64]) {
    const words = [size, callers, slices, creates].map(String)
    const names = callers === 1 ? ENGINES.slice(0, 3) : ENGINES
    const times = await result(['durable/slices.mjs', ...words, ...names])
    for (const name of names) rows.push(rowOf(run, callers, name, times))
  }
}
const columns = ['run', 'callers', '', 'µs', 'of slices', 'each / this', 'of each slice']
printTable(`CPU time per durable create, ${size.toLocaleString('en')} animals`, columns, rows)

function rowOf(run, callers, name, times) {
  const [own, each] = [times[name], times['sqlite-each']]
  const ratio = digits(Math.min(...each) / Math.min(...own))
  return [
    run,
    callers,
    LABELS[name],
    digits(Math.min(...own)),
    range(own),
    ratio,
    range(ratios(each, own)),
  ]
}

function range(values) {
  return `${digits(Math.min(...values))}–${digits(Math.max(...values))}`
}
