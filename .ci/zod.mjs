// Puts zod into the one module of dist/ that imports it, without what the package does not use: zod itself
// loads its messages in 64 languages. Its declarations stay, so zod remains a dependency.
import { readFileSync } from 'node:fs'
import { build } from 'esbuild'

const licence = readFileSync('node_modules/zod/LICENSE', 'utf8').trim()
const { version } = JSON.parse(readFileSync('node_modules/zod/package.json', 'utf8'))

await build({
  entryPoints: ['src/lib/zod.ts'],
  outfile: 'dist/src/lib/zod.js',
  allowOverwrite: true,
  bundle: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  // With `!`, bundlers keep it.
  banner: { js: `/*! zod ${version}\n\n${licence}\n*/` },
})
