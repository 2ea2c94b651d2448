// Puts zod and lossless-json into the one module of dist/ that imports each, without what the package does not
// use: zod itself loads its messages in 64 languages, which takes ten times as long. Their declarations stay, so
// both remain dependencies.
import { readdirSync, readFileSync } from 'node:fs'
import { build } from 'esbuild'

await Promise.all(['zod', 'lossless-json'].map(bundle))

function bundle(name) {
  const folder = `node_modules/${name}`
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const licence = readdirSync(folder).find(file => file.startsWith('LICENSE'))
  return build({
    entryPoints: [`src/lib/${name}.ts`],
    outfile: `dist/src/lib/${name}.js`,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    format: 'esm',
    target: 'es2022',
    // With `!`, bundlers keep it.
    banner: {
      js: `/*! ${name} ${version}\n\n${readFileSync(`${folder}/${licence}`, 'utf8').trim()}\n*/`,
    },
  })
}
