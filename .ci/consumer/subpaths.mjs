// Imports every subpath that the installed package exports, requires those with CommonJS, and prints
// what it found.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const manifest = JSON.parse(readFileSync('node_modules/animal-adoption-store/package.json', 'utf8'))
const require = createRequire(import.meta.url)
for (const [subpath, target] of Object.entries(manifest.exports)) {
  if (subpath.endsWith('.json')) continue
  const name = `animal-adoption-store${subpath.slice(1)}`
  const exported = Object.keys(await import(name))
  if (exported.length === 0) throw new Error(`${name} exports nothing`)
  console.log(`${name}: ${exported.join(', ')}`)
  if (typeof target === 'string') continue
  const required = Object.keys(require(name)).filter(key => key !== '__esModule')
  if (`${required.toSorted()}` !== `${exported.toSorted()}`) {
    throw new Error(`${name} exports something else to require: ${required.join(', ')}`)
  }
}
