/**
 * Time from the spawn of a server with 1,000 animals to its first 200, and its memory then; and of
 * commands from their spawn to their end.
 */
import { once } from 'node:events'
import { readArguments } from './harness/arguments.mjs'
import { firstLine, residentMiB, startNode, stayOnOtherCores, stop } from './harness/children.mjs'
import { exchange } from './harness/exchange.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { figure, inRounds, ratios } from './harness/rounds.mjs'
import { SUBJECTS, serverArguments } from './harness/servers.mjs'
import { get } from './harness/workload.mjs'

const MAIN = '../../dist/adapters/cli/main.cjs'
const COMMANDS = {
  'node -e 0': ['-e', '0'],
  '--help': [MAIN, '--help'],
  'exec -- true': [MAIN, 'exec', '--', 'true'],
}
const SERVE = 'serve'
const SERVERS = ['limit', 'ours', 'fastify', 'json-server']
const { rounds, only } = readArguments({
  rounds: 15,
  only: [...Object.keys(COMMANDS), SERVE, ...SERVERS],
})

stayOnOtherCores()
printSurroundings(only.flatMap(name => SUBJECTS[name] ?? []))
const results = await inRounds(rounds, only, name =>
  COMMANDS[name] ? untilEnd(COMMANDS[name]) : untilAnswer(name),
)
const column = (name, field) => results.get(name)?.map(run => run[field]) ?? []
printTable(
  `medians of ${rounds} rounds`,
  ['process', 'ms', 'of node -e 0', 'MiB resident'],
  only.map(name => [
    name,
    figure(column(name, 'ms')),
    figure(ratios(column(name, 'ms'), column('node -e 0', 'ms'))),
    figure(column(name, 'resident')),
  ]),
)

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
