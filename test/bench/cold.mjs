/**
 * Time from the spawn of a server with 1,000 animals to its first 200, and its memory then; and of
 * commands from their spawn to their end.
 */
import { once } from 'node:events'
import { readArguments } from './harness/arguments.mjs'
import { firstLine, residentMiB, startNode, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { acrossRuns, figure, inRounds, ratios } from './harness/rounds.mjs'
import { SUBJECTS, serverArguments } from './harness/servers.mjs'
import { get } from './harness/workload.mjs'

const MAIN = '../../dist/adapters/cli/main.cjs'
const COMMANDS = {
  'node -e 0': ['-e', '0'],
  '--version': [MAIN, '--version'],
  '--help': [MAIN, '--help'],
  'exec -- true': [MAIN, 'exec', '--', 'true'],
}
const SERVE = 'serve'
const OTHERS = ['limit-again', 'lean', 'ours-console']
const { runs, rounds, only } = readArguments({
  runs: 1,
  rounds: 15,
  only: [
    ...Object.keys(COMMANDS),
    SERVE,
    ...Object.keys(SUBJECTS).filter(name => !OTHERS.includes(name)),
  ],
})
const COLUMNS = {
  ms: 'ms',
  ofNode: 'of node -e 0',
  ofLimit: 'of the limit',
  resident: 'MiB resident',
}

stayOnOtherCores()
printSurroundings(only.flatMap(name => SUBJECTS[name] ?? []))
const all = []
for (let run = 1; run <= runs; run++) {
  const results = await inRounds(rounds, only, name =>
    COMMANDS[name] ? untilEnd(COMMANDS[name]) : untilAnswer(name),
  )
  all.push(new Map(only.map(name => [name, columnsOf(results, name)])))
  printTable(`run ${run}: medians of ${rounds} rounds`, headings(), rowsOf(all.at(-1)))
}
if (runs > 1) printTable(`medians of ${runs} runs`, headings(), rowsOf(acrossRuns(all)))

async function untilEnd(args) {
  const start = performance.now()
  const child = startNode(args)
  child.stdout.resume()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${args.join(' ')} exits with ${code}`)
  return { ms: performance.now() - start, resident: Number.NaN }
}

async function untilAnswer(name) {
  const args =
    name === SERVE ? [MAIN, 'serve', '--port', '0', '--json', '-q'] : await serverArguments(name)
  const start = performance.now()
  const child = startNode(args)
  const { origin, apiKeys } = await firstLine(child)
  const { status } = await exchange(origin, get('/v1/pets', apiKeys?.enterprise))
  const ms = performance.now() - start
  if (status !== 200) throw new Error(`${name} answers ${status}`)
  const resident = residentMiB(child)
  await stop(child)
  return { ms, resident }
}

function columnsOf(results, name) {
  const column = (field, of = name) => results.get(of)?.map(run => run[field]) ?? []
  return {
    ms: column('ms'),
    ofNode: ratios(column('ms'), column('ms', 'node -e 0')),
    ofLimit: ratios(column('ms'), column('ms', 'limit')),
    resident: column('resident'),
  }
}

function headings() {
  return ['process', ...Object.values(COLUMNS)]
}

function rowsOf(result) {
  return [...result].map(([name, columns]) => [
    name,
    ...Object.keys(COLUMNS).map(field => figure(columns[field])),
  ])
}
