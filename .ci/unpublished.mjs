// Writes dist/.npmignore: the modules and declarations that no entry point of the package reaches, as the bundle
// of the command line has what only its commands need.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const reached = new Set()
for (const entry of Object.values(exports)) {
  const { default: path } = typeof entry === 'string' ? { default: entry } : entry
  for (const end of ['.js', '.d.ts']) reach(path, end)
}
const modules = readdirSync('dist', { recursive: true })
  .map(name => join('dist', name))
  .filter(path => /^dist.(src|adapters)\b.*\.(d\.ts|js)$/.test(path))
  // The console serves it as a file.
  .filter(path => basename(path) !== 'page.js')
const ignored = modules.filter(path => !reached.has(path))
writeFileSync('dist/.npmignore', ignored.map(path => `${relative('dist', path)}\n`).join(''))

function reach(module, end) {
  const path = join('.', module.replace(/\.js$/, end))
  if (reached.has(path) || !existsSync(path)) return
  reached.add(path)
  const specifiers = readFileSync(path, 'utf8').matchAll(
    /(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g,
  )
  for (const [, specifier] of specifiers) reach(join(dirname(path), specifier), end)
}
