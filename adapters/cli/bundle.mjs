// Bundles the command line into one CommonJS file, dist/adapters/cli/main.cjs: Node then reads one
// file, and starts without its loader of ES modules.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = name => fileURLToPath(new URL(name, import.meta.url))

await build({
  entryPoints: [path('main.ts')],
  outfile: path('../../dist/adapters/cli/main.cjs'),
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  // An old Node has to parse the file to say that it is too old.
  target: 'node14.18',
  // The optional peers, and the parsers that the first create loads.
  external: ['@redis/client', 'ioredis', 'lossless-json', 'pg', 'swagger-ui-dist', 'zod'],
  // As `require`: imported here and required there, zod would be loaded twice.
  supported: { 'dynamic-import': false },
  banner: {
    js: `/* Includes mitt, copyright Jason Miller, and lowdb, copyright typicode; both MIT licensed. */
const URL_OF_THIS_FILE = require('node:url').pathToFileURL(__filename).href`,
  },
  define: { 'import.meta.url': 'URL_OF_THIS_FILE' },
})
