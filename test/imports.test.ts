import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

test('imports - the client and all it reaches run in a browser', async () => {
  const { packages } = await reached('../adapters/client/index.js', ANY_IMPORT)
  assert.deepEqual(packages, ['bottleneck/light.js', 'lossless-json', 'zod'])
})

test('imports - the package starts without its parsers', async () => {
  assert.deepEqual((await reached('../src/index.js', STATIC_IMPORT)).packages, ['mitt'])
  const { packages, files } = await reached('../src/index.js', ANY_IMPORT)
  assert.deepEqual(packages, ['lossless-json', 'mitt', 'zod'])
  assert.ok(files.some(file => file.endsWith('/src/openapi/document.js')))
})

const STATIC_IMPORT = /^(?:import|export) (?:[^'"`=(;]*? from )?'([^']+)'/gm
const ANY_IMPORT = new RegExp(`${STATIC_IMPORT.source}|\\bimport\\('([^']+)'\\)`, 'gm')

/** What a compiled module imports, and what that imports: files of ours, and names of others. */
async function reached(entry: string, imports: RegExp) {
  const files = new Set([new URL(entry, import.meta.url).href])
  const packages = new Set<string>()
  for (const file of files) {
    for (const [, first, second] of (await readFile(new URL(file), 'utf8')).matchAll(imports)) {
      const name = first ?? second ?? ''
      if (name.startsWith('.')) files.add(new URL(name, file).href)
      else packages.add(name)
    }
  }
  return { files: [...files], packages: [...packages].toSorted() }
}
