// Writes dist/.npmignore: the modules and declarations that no entry point of the package reaches, as the bundle
// of the command line has what only its commands need. Takes the comments out of declarations that entry points
// reach and export nothing from: they are for the sources.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const IMPORTS = /(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g
const EXPORTS = /^export [^;]*? from ["'](\.[^"']+)["']/gm

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const reached = new Set()
const exported = new Set()
for (const entry of Object.values(exports)) {
  const { default: path } = typeof entry === 'string' ? { default: entry } : entry
  const declarations = path.replace(/\.js$/, '.d.ts')
  follow(path, IMPORTS, reached)
  follow(declarations, IMPORTS, reached)
  follow(declarations, EXPORTS, exported)
}
for (const path of reached) {
  if (!path.endsWith('.d.ts') || exported.has(path)) continue
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, ''))
}
const modules = readdirSync('dist', { recursive: true })
  .map(name => join('dist', name))
  .filter(path => /^dist.(src|adapters)\b.*\.(d\.ts|js)$/.test(path))
const ignored = modules.filter(path => !reached.has(path))
writeFileSync('dist/.npmignore', ignored.map(path => `${relative('dist', path)}\n`).join(''))

/** Adds a module or declaration, and all that it refers to in this way, to those found. */
function follow(module, references, found) {
  const path = join('.', module)
  if (found.has(path) || !existsSync(path)) return
  found.add(path)
  for (const [, specifier] of readFileSync(path, 'utf8').matchAll(references)) {
    const to = path.endsWith('.d.ts') ? specifier.replace(/\.js$/, '.d.ts') : specifier
    follow(join(dirname(path), to), references, found)
  }
}
