/** What `npm install` adds, for our packed tarball and for the peers. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readArguments } from './harness/arguments.mjs'
import { printSurroundings, printTable } from './harness/report.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))
const peers = (...names) => names.map(name => `${name}@${dependencies[name]}`)
const SUBJECTS = {
  ours: folder => [`./${packed(folder)}`],
  zod: () => peers('zod'),
  'zod + lowdb': () => peers('zod', 'lowdb'),
  hono: () => peers('hono', '@hono/node-server'),
  'hono + zod': () => peers('hono', '@hono/node-server', 'zod'),
  fastify: () => peers('fastify', '@fastify/rate-limit'),
  express: () => peers('express', 'express-rate-limit'),
  'json-server': () => peers('json-server'),
  'json-server-1': () => [dependencies['json-server-1'].replace('npm:', '')],
  '@msw/data': () => peers('@msw/data'),
  lokijs: () => peers('lokijs'),
  nedb: () => peers('@seald-io/nedb'),
  'better-sqlite3': () => peers('better-sqlite3'),
}
const { only } = readArguments({ only: Object.keys(SUBJECTS) })

printSurroundings()
printTable('install', ['install', 'packages', 'files', 'MB'], only.map(measure))

function measure(name) {
  const folder = mkdtempSync(join(tmpdir(), 'animal-bench-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{}')
    npm(folder, 'install', '--no-audit', '--no-fund', '--prefer-offline', ...SUBJECTS[name](folder))
    const lock = join(folder, 'node_modules/.package-lock.json')
    const packages = Object.keys(JSON.parse(readFileSync(lock, 'utf8')).packages).length
    const files = filesBelow(join(folder, 'node_modules')).filter(file => file !== lock)
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    return [name, packages, files.length.toLocaleString('en'), (bytes / 1e6).toFixed(2)]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The tarball as published, beside what is installed. */
function packed(folder) {
  npm(ROOT, 'pack', '--pack-destination', folder)
  return readdirSync(folder).find(file => file.endsWith('.tgz'))
}

function npm(cwd, ...args) {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => resolve(entry.path, entry.name))
}
