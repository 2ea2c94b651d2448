/** Time from the spawn of a server with 1,000 animals to its first 200, and its memory then. */
import { once } from 'node:events'
import { readArguments } from './harness/arguments.mjs'
import { firstLine, residentMiB, startNode, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { SUBJECTS, serverArguments } from './harness/servers.mjs'
import { get } from './harness/workload.mjs'

const { rounds, only } = readArguments({
  rounds: 11,
  only: ['node -e 0', 'command line', ...Object.keys(SUBJECTS)],
})
const CLI = ['../../dist/adapters/cli/main.js', 'serve', '--port', '0', '--json', '-q']

stayOnOtherCores()
printSurroundings(only.flatMap(name => SUBJECTS[name] ?? []))
const results = await inRounds(rounds, only, measure)
const base = results.get('limit')?.map(run => run.ms)
printTable(
  'spawn to the first 200',
  ['server', 'ms', 'of the limit', 'MiB resident'],
  only.map(name => {
    const column = field => results.get(name).map(run => run[field])
    const ofLimit = base ? figure(ratios(column('ms'), base)) : 'n/a'
    return [name, figure(column('ms')), ofLimit, figure(column('resident'))]
  }),
)

async function measure(name) {
  const args = name === 'command line' ? CLI : await serverArguments(name)
  const start = performance.now()
  if (name === 'node -e 0') {
    await once(startNode(['-e', '0']), 'exit')
    return { ms: performance.now() - start }
  }
  const child = startNode(args)
  const { origin, apiKeys } = await firstLine(child)
  const { status } = await exchange(origin, get('/v1/pets', apiKeys?.enterprise))
  const ms = performance.now() - start
  if (status !== 200) throw new Error(`${name} answers ${status}`)
  const resident = residentMiB(child)
  await stop(child)
  return { ms, resident }
}
