// Bundles the command line into dist/adapters/cli: main.cjs, which answers --help and --version,
// verify.cjs, metrics.cjs, zod.cjs, and commands.cjs with everything else. As CommonJS, because Node starts it without
// its loader of ES modules; as five files, because V8 reads every character of a file that it loads.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = name => fileURLToPath(new URL(name, import.meta.url))
const { version, engines } = JSON.parse(readFileSync(path('../../package.json'), 'utf8'))

const besideMain = {
  name: 'files beside main.cjs',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(commands|verify|metrics)\.js$/ }, ({ kind, path: name }) =>
      kind === 'dynamic-import' ? { path: name.replace('.js', '.cjs'), external: true } : undefined,
    )
    onResolve({ filter: /\/lib\/zod\.js$/ }, () => ({ path: './zod.cjs', external: true }))
  },
}

await build({
  entryPoints: ['main.ts', 'commands.ts', 'verify.ts', 'metrics.ts', '../../src/lib/zod.ts'].map(
    name => ({ in: path(name), out: basename(name, '.ts') }),
  ),
  outdir: path('../../dist/adapters/cli'),
  outExtension: { '.js': '.cjs' },
  plugins: [besideMain],
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  // An old Node has to parse the file to say that it is too old.
  target: 'node14.18',
  // The optional peers.
  external: ['ioredis', 'pg', 'swagger-ui-dist'],
  // As `require`, without Node's loader of ES modules.
  supported: { 'dynamic-import': false },
  banner: {
    js: `/* Includes mitt, copyright Jason Miller, lowdb, copyright typicode, and in zod.cjs zod, copyright Colin McDonnell; all MIT licensed.\nIn metrics.cjs also prom-client and @opentelemetry/api; both Apache 2.0 licensed. */
const URL_OF_THIS_FILE = require('node:url').pathToFileURL(__filename).href`,
  },
  define: {
    'import.meta.url': 'URL_OF_THIS_FILE',
    BUNDLED_VERSION: JSON.stringify(version),
    BUNDLED_ENGINE: JSON.stringify(engines.node),
  },
})
