// Builds dist/commonjs from dist: `./client`, `./judge` and `./test-double` for `require`, as Jest calls it in a
// project without ES modules. One bundle holds all, so that they share their classes; the types are
// those of the modules.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const FOLDER = 'dist/commonjs'
const ENTRIES = {
  client: 'adapters/client/index',
  judge: 'adapters/judge/index',
  'test-double': 'adapters/test-double/index',
}

mkdirSync(FOLDER, { recursive: true })

const namespaces = Object.entries(ENTRIES).map(
  ([name, entry]) => `export * as '${name}' from './dist/${entry}.js'`,
)
await build({
  stdin: { contents: namespaces.join('\n'), resolveDir: '.' },
  outfile: join(FOLDER, 'bundle.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.15',
  packages: 'external',
  // As `require`: Jest's CommonJS has no `import()`.
  supported: { 'dynamic-import': false },
})
for (const [name, entry] of Object.entries(ENTRIES)) {
  writeFileSync(
    join(FOLDER, `${name}.cjs`),
    `module.exports = require('./bundle.cjs')['${name}']\n`,
  )
  writeFileSync(join(FOLDER, `${name}.d.cts`), await declarations(`../${entry}.js`))
}

/** The types of a module, as those of CommonJS: a class is a value and a type. */
async function declarations(path) {
  const from = `'${path}' with { 'resolution-mode': 'import' }`
  const module = await import(new URL(`../dist/commonjs/${path}`, import.meta.url))
  const values = Object.entries(module).flatMap(([name, value]) => [
    `export declare const ${name}: typeof module.${name}`,
    ...(/^class\b/.test(String(value)) ? [`export type ${name} = module.${name}`] : []),
  ])
  const lines = [`import type * as module from ${from}`, `export type * from ${from}`, ...values]
  return `${lines.join('\n')}\n`
}
