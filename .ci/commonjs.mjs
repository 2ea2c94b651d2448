// Builds dist/commonjs from dist: `./client`, `./judge` and `./test-double` for `require`, as Jest calls it in a
// project without ES modules. One bundle holds all, so that they share their classes; the types are
// those of the modules, in a folder that says they are CommonJS.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const FOLDER = 'dist/commonjs'
const ENTRIES = {
  client: 'adapters/client/index',
  judge: 'adapters/judge/index',
  'test-double': 'adapters/test-double/index',
}

mkdirSync(join(FOLDER, 'types'), { recursive: true })
writeFileSync(join(FOLDER, 'types/package.json'), '{ "type": "commonjs" }\n')

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
  writeFileSync(join(FOLDER, `${name}.d.cts`), `export * from './types/${entry}.js'\n`)
}
for (const path of reachable(Object.values(ENTRIES))) {
  const target = join(FOLDER, 'types', `${path}.d.ts`)
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(join('dist', `${path}.d.ts`), target)
}

/** The declarations that these need, themselves included. */
function reachable(paths) {
  const found = new Set(paths)
  for (const path of found) {
    const text = readFileSync(join('dist', `${path}.d.ts`), 'utf8')
    for (const [, target] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g)) {
      found.add(join(dirname(path), target))
    }
  }
  return found
}
