/**
 * Creates that outlive the process, by one caller and by 64, in a file that already holds some
 * animals: per second, and per second of CPU time, which other work on the machine changes less.
 * Then how long such a file takes to open, and inserts while a compaction runs. lowdb never syncs.
 * SQLite is better-sqlite3 with WAL and `synchronous = FULL`; its 64 callers share a transaction, or
 * have one each.
 */
import { readArguments } from './harness/arguments.mjs'
import { result } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, median, ratios } from './harness/rounds.mjs'

const ENGINES = {
  ours: [],
  'ours-sqlite': ['better-sqlite3'],
  lowdb: ['lowdb'],
  sqlite: ['better-sqlite3'],
  'sqlite-each': ['better-sqlite3'],
}
const CALLERS = [1, 64]
const { rounds, sizes, seconds, compacted, only } = readArguments({
  rounds: 5,
  sizes: [100, 10_000, 100_000],
  seconds: 1,
  compacted: 1_000_000,
  only: Object.keys(ENGINES),
})

printSurroundings(only.flatMap(name => ENGINES[name]))
const runs = sizes.flatMap(size =>
  CALLERS.flatMap(callers => only.map(name => `${name} ${size} ${callers}`)),
)
const openings = ['document', 'journal', 'sqlite'].map(left => `opening ${left} ${sizes.at(-1)}`)
const compaction = `compaction ${compacted}`
const results = await inRounds(rounds, [...runs, ...openings, compaction], run => {
  const [name, ...rest] = run.split(' ')
  if (name === 'compaction') return result(['durable/compaction.mjs', ...rest])
  if (name === 'opening') return result(['durable/opening.mjs', ...rest])
  return result(['durable/creates.mjs', name, ...rest, String(seconds)])
})

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
  const slowest = run => results.get(run).map(({ slowest }) => slowest)
  printTable(`slowest create (ms), ${title}`, ['engine', ...columns], only.map(cells(slowest)))
}

const goals = CALLERS.flatMap(callers => {
  const at = (name, size) => perCpu(`${name} ${size} ${callers}`)
  const row = (what, values, goal) => [
    `${what}, ${callers === 1 ? 'one caller' : `${callers} callers`}`,
    figure(values),
    goal,
    median(values) >= goal ? 'yes' : 'no',
  ]
  const rows = []
  if (only.includes('ours') && sizes.length > 1) {
    const [small, large] = [sizes[0], sizes.at(-1)]
    const flat = ratios(at('ours', large), at('ours', small))
    rows.push(row(`ours at ${large.toLocaleString('en')} of ours at ${small}`, flat, 0.8))
  }
  if (only.includes('ours') && only.includes('sqlite')) {
    for (const size of sizes) {
      const share = ratios(at('ours', size), at('sqlite', size))
      rows.push(
        row(`ours of sqlite at ${size.toLocaleString('en')}`, share, callers === 1 ? 0.65 : 0.85),
      )
    }
  }
  if (only.includes('ours-sqlite') && only.includes('sqlite-each')) {
    for (const size of sizes) {
      const share = ratios(at('ours-sqlite', size), at('sqlite-each', size))
      const what = `ours-sqlite of sqlite-each at ${size.toLocaleString('en')}`
      rows.push(row(what, share, callers === 1 ? 0.95 : 3))
    }
  }
  return rows
})
printTable('ratios by CPU time', ['of', 'ratio', 'at least', 'met'], goals)
printTable(
  `opening ${sizes.at(-1).toLocaleString('en')} animals in a new process (ms)`,
  ['what is there', 'ms', 'ms of CPU time', 'MiB resident'],
  openings.map(run => [
    run.split(' ')[1],
    figure(results.get(run).map(({ ms }) => ms)),
    figure(results.get(run).map(({ cpuMs }) => cpuMs)),
    figure(results.get(run).map(({ mib }) => mib)),
  ]),
)
const compactions = results.get(compaction)
printTable(
  `inserts of one caller while ${compacted.toLocaleString('en')} animals are compacted (ms)`,
  ['', 'ms'],
  [
    ['99th percentile without', figure(compactions.map(({ alone }) => alone))],
    ['99th percentile during', figure(compactions.map(({ during }) => during))],
    ['ratio', figure(compactions.map(({ alone, during }) => during / alone))],
    ['the compaction', figure(compactions.map(({ compaction }) => compaction))],
  ],
)
