/**
 * `npm run bench [-- table… [--option value…]]` prints tables, one per file of this folder; without
 * a name all of them. The first run installs the peers into this folder.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const tables = readdirSync(FOLDER)
  .filter(file => file.endsWith('.mjs') && file !== 'run.mjs')
  .map(file => basename(file, '.mjs'))
const args = process.argv.slice(2)
const firstOption = args.findIndex(arg => arg.startsWith('--'))
const names = firstOption < 0 ? args : args.slice(0, firstOption)
const options = firstOption < 0 ? [] : args.slice(firstOption)
const unknown = names.find(name => !tables.includes(name))

if (unknown !== undefined) {
  console.error(`Unknown table ${unknown}; expected one of ${tables.join(', ')}`)
  process.exit(2)
}
if (!existsSync(join(FOLDER, 'node_modules')))
  run('npm', 'install', '--no-package-lock', '--no-audit', '--no-fund')
for (const name of names.length > 0 ? names : tables) {
  console.log(`\n## ${name}`)
  run(process.execPath, `${name}.mjs`, ...options)
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: FOLDER, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
