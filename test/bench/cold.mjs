/**
 * Time from the spawn of a server with 1,000 animals to its first 200, and its memory then; and of
 * commands from their spawn to their end. `--write` puts the figures into the guide, with a chart.
 */
import { once } from 'node:events'
import { readArguments } from './harness/arguments.mjs'
import { chart } from './harness/chart.mjs'
import { firstLine, residentMiB, startNode, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { publish, publishChart } from './harness/publish.mjs'
import { printTable, surroundings, table } from './harness/report.mjs'
import { acrossRuns, cell, figure, inRounds, ratios } from './harness/rounds.mjs'
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
const { runs, rounds, only, write } = readArguments({
  runs: 1,
  rounds: 15,
  only: [
    ...Object.keys(COMMANDS),
    SERVE,
    ...Object.keys(SUBJECTS).filter(name => !OTHERS.includes(name)),
  ],
  write: false,
})
const COLUMNS = {
  ms: 'ms',
  ofNode: 'of node -e 0',
  ofLimit: 'of the limit',
  resident: 'MiB resident',
}

stayOnOtherCores()
const measured = surroundings(only.flatMap(name => SUBJECTS[name] ?? []))
console.log(`\n${measured}`)
const all = []
for (let run = 1; run <= runs; run++) {
  const results = await inRounds(rounds, only, name =>
    COMMANDS[name] ? untilEnd(COMMANDS[name]) : untilAnswer(name),
  )
  all.push(new Map(only.map(name => [name, columnsOf(results, name)])))
  printTable(`run ${run}: medians of ${rounds} rounds`, headings(), rowsOf(all.at(-1)))
}
const results = acrossRuns(all)
if (runs > 1) printTable(`medians of ${runs} runs`, headings(), rowsOf(results))
if (write) writePages()

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

function writePages() {
  publish('cold', `${measured}\n\n${table(headings(), rowsOf(results))}`)
  const cells = only.map(name => cell(results.get(name).ms))
  publishChart(
    'cold',
    chart({
      title: 'From spawn to the first response, or to the end of a command, in ms',
      panels: ['ms, less is better'],
      rows: only.map((name, at) => ({
        name,
        isOurs: [SERVE, 'ours', '--version', '--help', 'exec -- true'].includes(name),
        cells: [cells[at]],
      })),
      most: Math.max(...cells.map(({ high }) => high)),
      format: value => value.toFixed(0),
    }),
  )
}
