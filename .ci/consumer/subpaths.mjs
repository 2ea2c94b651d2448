// Imports every subpath that the installed package names, and says what it got.
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync('node_modules/animal-adoption-store/package.json', 'utf8'))
for (const subpath of Object.keys(manifest.exports)) {
  if (subpath.endsWith('.json')) continue
  const name = `animal-adoption-store${subpath.slice(1)}`
  const exported = Object.keys(await import(name))
  if (exported.length === 0) throw new Error(`${name} exports nothing`)
  console.log(`${name}: ${exported.join(', ')}`)
}
