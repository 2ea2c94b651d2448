/**
 * Creates that outlive the process, by one caller and by 64, in a file that already holds some
 * animals: per second, and per second of CPU time, which other work on the machine changes less.
 * SQLite by hand has WAL and `synchronous = FULL`, and its 64 callers share a transaction.
 * With SQLite it needs Node 22.13 or newer.
 */
import { readArguments } from './harness/arguments.mjs'
import { result } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'

const ENGINES = ['ours', 'ours-sqlite', 'sqlite']
const CALLERS = [1, 64]
const { rounds, sizes, seconds, only } = readArguments({
  rounds: 5,
  sizes: [100, 10_000, 100_000],
  seconds: 1,
  only: ENGINES,
})

printSurroundings()
const runs = sizes.flatMap(size =>
  CALLERS.flatMap(callers => only.map(name => `${name} ${size} ${callers}`)),
)
const results = await inRounds(rounds, runs, run =>
  result(['durable/creates.mjs', ...run.split(' '), String(seconds)]),
)

const columns = sizes.map(size => `N = ${size.toLocaleString('en')}`)
const rates = run => results.get(run).map(({ rate }) => rate)
const perCpu = run => results.get(run).map(({ perCpu }) => perCpu)
for (const callers of CALLERS) {
  const title = callers === 1 ? 'one caller' : `${callers} callers`
  const cells = value => name => [
    name,
    ...sizes.map(size => figure(value(`${name} ${size} ${callers}`))),
  ]
  printTable(`durable creates per second, ${title}`, ['engine', ...columns], only.map(cells(rates)))
  printTable(
    `durable creates per second of CPU time, ${title}`,
    ['engine', ...columns],
    only.map(cells(perCpu)),
  )
}

const pairs = { ours: 'sqlite', 'ours-sqlite': 'sqlite' }
const shares = Object.entries(pairs).filter(names => names.every(name => only.includes(name)))
printTable(
  'shares by CPU time',
  ['of', ...columns],
  CALLERS.flatMap(callers =>
    shares.map(([name, peer]) => [
      `${name} of ${peer}, ${callers} at once`,
      ...sizes.map(size =>
        figure(ratios(perCpu(`${name} ${size} ${callers}`), perCpu(`${peer} ${size} ${callers}`))),
      ),
    ]),
  ),
)
