import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { ROOT } from '../support/paths.js'

const CLIENT = "export * from 'animal-adoption-store/client'"
const DOUBLE = "export { createTestDouble } from 'animal-adoption-store/test-double'"

for (const [what, code, most, expected] of [
  ['client', CLIENT, 15_000, []],
  ['double', DOUBLE, 63_500, ['mitt']],
] as const) {
  test(`bundles - the ${what} holds nothing of Node, and is at most ${most} bytes gzipped`, async () => {
    const { text, packages } = await bundle(code)
    assert.deepEqual(packages, expected)
    assert.doesNotMatch(text, /from ?"node:|\beval\(|new Function\(|\brequire\(/)
    const size = gzipSync(text).length
    assert.ok(size <= most, `${size} bytes`)
  })
}

test('bundles - a double in a browser says what takes the place of listen', async () => {
  const { text } = await bundle(DOUBLE)
  const { createTestDouble } = await import(`data:text/javascript,${encodeURIComponent(text)}`)
  const message = 'listen needs Node; use `fetch` of the double, or MSW, in a browser'
  await assert.rejects(createTestDouble().listen(), { message })
})

/** As an app for browsers is bundled. */
async function bundle(contents: string): Promise<{ text: string; packages: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    write: false,
    absWorkingDir: ROOT,
  })
  const packages = Object.keys(metafile.inputs).flatMap(
    path => /^node_modules\/([^/]+)/.exec(path)?.[1] ?? [],
  )
  return { text: outputFiles[0]?.text ?? '', packages }
}
