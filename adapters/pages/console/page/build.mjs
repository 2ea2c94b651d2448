// Bundles the console into adapters/pages/console/built-page.ts: one page, one script, one style. A module, unlike
// files beside one, is still there once an app is bundled.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const source = name => fileURLToPath(new URL(name, import.meta.url))

const { outputFiles } = await build({
  entryPoints: [
    { in: source('app.tsx'), out: 'page' },
    { in: source('page.css'), out: 'page' },
  ],
  outdir: '.',
  write: false,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'inline',
})
const page = { 'index.html': readFileSync(source('index.html'), 'utf8') }
for (const { path, text } of outputFiles) page[basename(path)] = text
const type = `Readonly<Record<'${Object.keys(page).join("' | '")}', string>>`
const module = `export const PAGE: ${type} = ${JSON.stringify(page)}\n`
writeFileSync(source('../built-page.ts'), module)
