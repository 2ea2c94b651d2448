import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { BUILD_URL } from './support/paths.js'

test('client - runs in a browser: nothing that it reaches is part of Node', async () => {
  const packages = await packagesOf('adapters/client/index.js')
  assert.deepEqual(packages, ['bottleneck/light.js', 'lossless-json', 'zod'])
})

const IMPORT = /^(?:import|export) (?:[^'"`=(;]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm

/** The names that a compiled module imports, also on demand, and that what it imports imports. */
async function packagesOf(entry: string): Promise<readonly string[]> {
  const files = new Set([new URL(entry, BUILD_URL).href])
  const packages = new Set<string>()
  for (const file of files) {
    for (const [, first, second] of (await readFile(new URL(file), 'utf8')).matchAll(IMPORT)) {
      const name = first ?? second ?? ''
      if (name.startsWith('.')) files.add(new URL(name, file).href)
      else packages.add(name)
    }
  }
  return [...packages].toSorted()
}
