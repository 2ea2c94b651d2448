// Imports every subpath that the installed package exports, and prints what it found.
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync('node_modules/animal-adoption-store/package.json', 'utf8'))
for (const subpath of Object.keys(manifest.exports)) {
  if (subpath.endsWith('.json')) continue
  const name = `animal-adoption-store${subpath.slice(1)}`
  const exported = Object.keys(await import(name))
  if (exported.length === 0) throw new Error(`${name} exports nothing`)
  console.log(`${name}: ${exported.join(', ')}`)
}
