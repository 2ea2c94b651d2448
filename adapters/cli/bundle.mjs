// Bundles the command line into dist/adapters/cli: main.cjs, which answers --help and --version,
// verify.cjs, metrics.cjs, and commands.cjs with everything else. As CommonJS, because Node starts it without its
// loader of ES modules; as four files, because V8 reads every character of a file that it loads.
import { readFileSync } from 'node:fs'
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
  },
}

await build({
  entryPoints: ['main.ts', 'commands.ts', 'verify.ts', 'metrics.ts'].map(path),
  outdir: path('../../dist/adapters/cli'),
  outExtension: { '.js': '.cjs' },
  plugins: [besideMain],
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  // An old Node has to parse the file to say that it is too old.
  target: 'node14.18',
  // The optional peers, and the parsers that the first create loads.
  external: [
    '@redis/client',
    'better-sqlite3',
    'ioredis',
    'lossless-json',
    'pg',
    'swagger-ui-dist',
    'zod',
  ],
  // As `require`: imported here and required there, zod would be loaded twice.
  supported: { 'dynamic-import': false },
  banner: {
    js: `/* Includes mitt, copyright Jason Miller, and lowdb, copyright typicode; both MIT licensed.\nIn metrics.cjs also prom-client and @opentelemetry/api; both Apache 2.0 licensed. */
const URL_OF_THIS_FILE = require('node:url').pathToFileURL(__filename).href`,
  },
  define: {
    'import.meta.url': 'URL_OF_THIS_FILE',
    BUNDLED_VERSION: JSON.stringify(version),
    BUNDLED_ENGINE: JSON.stringify(engines.node),
  },
})
