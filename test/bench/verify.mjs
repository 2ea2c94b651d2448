/**
 * Mistakes of others that serve our description: the checks of `verify` against json-server,
 * Prism and Mockoon. `npm run bench verify`, with `--ids 1` for the ids of broken checks.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApiJson } from '../../dist/adapters/pages/openapi/index.js'
import { verify } from '../../dist/adapters/verify/index.js'
import { readArguments } from './harness/arguments.mjs'
import { stop } from './harness/children.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'
import { animals } from './harness/workload.mjs'

const { ids } = readArguments({ ids: 0 })
const folder = mkdtempSync(join(tmpdir(), 'animal-verify-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** The arguments for Node, given a free port and the description as a file. */
const SERVERS = {
  'animal-adoption-store': port => [
    '../../dist/adapters/cli/main.js',
    ...['--port', port, '--log', 'silent', '--quiet'],
  ],
  'json-server': port => [
    'node_modules/json-server/lib/cli/bin.js',
    ...[write('db.json', { pets: animals(40) }), '--routes', write('routes.json', ROUTES)],
    ...['--host', '127.0.0.1', '--port', port, '--quiet'],
  ],
  Prism: (port, description) => [
    'node_modules/@stoplight/prism-cli/dist/index.js',
    ...['mock', description, '--host', '127.0.0.1', '--port', port, '--verboseLevel', 'silent'],
  ],
  Mockoon: (port, description) => [
    'node_modules/@mockoon/cli/bin/run.js',
    ...['start', '--data', description, '--hostname', '127.0.0.1', '--port', port],
    ...['--disable-log-to-file', '--disable-admin-api'],
  ],
}
const ROUTES = { '/v1/*': '/$1' }

printSurroundings(['json-server', '@stoplight/prism-cli', '@mockoon/cli'])
const reports = new Map()
for (const [name, argumentsFor] of Object.entries(SERVERS)) {
  reports.set(name, await verifyOne(name, argumentsFor))
}
printTable(
  'MUST broken, by group',
  ['group', ...reports.keys()],
  [
    ...groups().map(group => [
      group,
      ...[...reports.values()].map(report => brokenIn(report, group)),
    ]),
    ['all MUST', ...[...reports.values()].map(report => brokenIn(report))],
    ['all SHOULD', ...[...reports.values()].map(report => brokenIn(report, undefined, 'SHOULD'))],
  ],
)
for (const [name, { results }] of reports) {
  const last = results.findLast(({ outcome }) => outcome === 'failed')
  const isLost = results.some(({ reason }) => reason?.includes('no longer answers'))
  if (isLost) console.log(`\n${name} no longer answers after ${last.id}.`)
}
for (const [name, { results }] of ids ? reports : []) {
  const broken = results.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
  console.log(`\n${name}: ${broken.join(', ')}`)
}

async function verifyOne(name, argumentsFor) {
  const port = await freePort()
  // Prism leaves out the path of the server's address.
  const baseUrl = `http://127.0.0.1:${port}${name === 'Prism' ? '' : '/v1'}`
  const document = JSON.parse(openApiJson())
  const description = write('openapi.json', { ...document, servers: [{ url: baseUrl }] })
  // They log stack traces; the report has what matters.
  const child = spawn(process.execPath, argumentsFor(String(port), description), {
    stdio: 'ignore',
  })
  process.once('exit', () => child.kill('SIGKILL'))
  try {
    await listening(baseUrl)
    return await verify({ baseUrl, apiKey: 'demo-business' })
  } finally {
    await stop(child)
  }
}

/** These servers do not print in one form when they are ready. */
async function listening(baseUrl) {
  for (let attempt = 0; attempt < 300; attempt++) {
    const answer = await fetch(baseUrl).catch(() => undefined)
    if (answer) return
    await sleep(100)
  }
  throw new Error(`Nothing listens at ${baseUrl}`)
}

function brokenIn({ results }, group, level = 'MUST') {
  const judged = results.filter(
    ({ id, outcome, level: given }) =>
      given === level &&
      outcome !== 'skipped' &&
      (group === undefined || id.startsWith(`${group}.`)),
  )
  const broken = judged.filter(({ outcome }) => outcome === 'failed')
  return judged.length === 0 ? '–' : `${broken.length} of ${judged.length}`
}

function groups() {
  const [{ results }] = reports.values()
  const names = results
    .filter(({ outcome }) => outcome !== 'skipped')
    .map(({ id }) => id.split('.')[0])
  return [...new Set(names)]
}

function write(name, value) {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(value))
  return path
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
