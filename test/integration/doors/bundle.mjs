import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { build } from 'esbuild'

await writeFile(
  'worker.js',
  `import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'
const store = createStore({ storage: memoryStorage(), apiKeys: { demo: { id: 'demo', plan: 'free' } } })
export default { fetch: toFetchHandler(store) }
`,
)
// A platform without Node: an import of node:anything fails the build.
await build({
  entryPoints: ['worker.js'],
  bundle: true,
  format: 'esm',
  platform: 'browser',
  conditions: ['worker'],
  minify: true,
  outfile: 'bundled.mjs',
})
const { default: worker } = await import(`${process.cwd()}/bundled.mjs`)
const request = new Request('https://pets.test/v1/pets', {
  headers: { authorization: 'Bearer demo' },
})
assert.equal((await worker.fetch(request, {}, {})).status, 200)
