// Builds dist/commonjs/bundle.cjs, the one copy of the code as CommonJS: for the command line, because Node starts it
// without its loader of ES modules, and for `require`, as Jest calls it in a project without ES modules. Every part is
// loaded when it is asked for.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { build } from 'esbuild'

const FOLDER = 'dist/commonjs'
const BUNDLE = join(FOLDER, 'bundle.cjs')
const COMMANDS = { actions: './adapters/cli/actions.js' }
const { version, engines, exports } = JSON.parse(readFileSync('package.json', 'utf8'))
/** The modules by the names of their files in `FOLDER`. */
const SUBPATHS = Object.fromEntries(
  Object.values(exports)
    .filter(target => target.require)
    .map(target => [basename(target.require, '.cjs'), target.default.replace('./dist/', './')]),
)

const parts = Object.entries({ ...SUBPATHS, ...COMMANDS }).map(
  ([name, path]) => `exports['${name}'] = () => require('${path}')`,
)
const settings = {
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  // The optional peers, and what only some clients need.
  external: ['bottleneck', 'ioredis', 'pg', 'swagger-ui-dist'],
  // As `require`: Jest's CommonJS has no `import()`, and Node no loader to start.
  supported: { 'dynamic-import': false },
  define: {
    'import.meta.url': 'URL_OF_THIS_FILE',
    BUNDLED_VERSION: JSON.stringify(version),
    BUNDLED_ENGINE: JSON.stringify(engines.node),
  },
}
const urlOf = folder =>
  `const URL_OF_THIS_FILE = require('node:url').pathToFileURL(require('node:path').join(__dirname, '${folder}', 'x')).href`

mkdirSync(FOLDER, { recursive: true })
await Promise.all([
  build({
    ...settings,
    stdin: { contents: parts.join('\n'), resolveDir: '.' },
    outfile: BUNDLE,
    plugins: [{ name: 'prom-client without what nothing calls', setup: withoutUnused }],
    target: 'node20.15',
    banner: {
      js: `/* Includes mitt, copyright Jason Miller, lowdb, copyright typicode, lossless-json, copyright Jos de Jong, zod, copyright Colin McDonnell, and cross-spawn, copyright Made With MOXY; all MIT licensed. Also prom-client, Apache 2.0 licensed, and which and isexe, ISC licensed, copyright Isaac Z. Schlueter. */\n${urlOf('../adapters/cli')}`,
    },
  }),
  build({
    ...settings,
    entryPoints: ['adapters/cli/main.ts'],
    outfile: 'dist/adapters/cli/main.cjs',
    plugins: [{ name: 'the commands in the bundle', setup: besideMain }],
    // An old Node has to parse main.cjs to say that it is too old.
    target: 'node14.18',
    banner: { js: urlOf('') },
  }),
])
for (const name of Object.keys(COMMANDS)) writePart(`dist/adapters/cli/${name}.cjs`, name)
for (const [name, entry] of Object.entries(SUBPATHS)) {
  writePart(join(FOLDER, `${name}.cjs`), name)
  writeFileSync(join(FOLDER, `${name}.d.cts`), await declarations(entry.replace('./', '../')))
}

/** Summaries, exemplars, a push gateway and clusters, with the libraries that only they load. */
function withoutUnused({ onLoad }) {
  const unused = /node_modules.(@opentelemetry.api|prom-client.lib.(summary|pushgateway|cluster))\b/
  onLoad({ filter: unused }, () => ({ contents: '' }))
}

function besideMain({ onResolve }) {
  onResolve({ filter: /^\.\/actions\.js$/ }, () => ({ path: './actions.cjs', external: true }))
}

function writePart(path, name) {
  const bundle = relative(dirname(path), BUNDLE)
  const from = bundle.startsWith('.') ? bundle : `./${bundle}`
  writeFileSync(path, `module.exports = require('${from}')['${name}']()\n`)
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
