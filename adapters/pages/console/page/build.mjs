// Bundles the console into dist/adapters/pages/console/page: one page, one script, one style.
import { copyFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const source = name => fileURLToPath(new URL(name, import.meta.url))
const outdir = source('../../../../dist/adapters/pages/console/page')

await build({
  entryPoints: [
    { in: source('app.tsx'), out: 'page' },
    { in: source('page.css'), out: 'page' },
  ],
  outdir,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'inline',
})
await copyFile(source('index.html'), `${outdir}/index.html`)
