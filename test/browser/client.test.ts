import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { BUILD_URL } from '../support/paths.js'

test('client - a browser bundle holds nothing of Node, and is at most 20 KB gzipped', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('adapters/client/index.js', BUILD_URL))],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    write: false,
  })
  const [bundle] = outputFiles
  const size = gzipSync(bundle?.contents ?? '').length
  const packages = Object.keys(metafile.inputs).flatMap(
    path => path.match(/^node_modules\/([^/]+)/)?.[1] ?? [],
  )
  assert.deepEqual(packages, [])
  assert.doesNotMatch(bundle?.text ?? '', /\beval\(|new Function\(|\brequire\(/)
  assert.ok(size <= 20_000, `${size} bytes`)
})

test('client - a process that shares no key reads neither bottleneck nor a Redis client', async () => {
  const entry = new URL('adapters/client/shared-through-redis.js', BUILD_URL)
  const imports = (await readFile(entry, 'utf8')).matchAll(/^import .* from '([^']+)'/gm)
  for (const [, name = ''] of imports) assert.match(name, /^\.\.?\//)
})
