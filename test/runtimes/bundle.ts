import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { ROOT } from '../support/paths.js'

const HERE = join(ROOT, 'test/runtimes')

/** A program below `test/` as one module without imports, which any runtime can load. */
export async function bundled(program: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'test', program)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['browser', 'import'],
    target: 'es2022',
    // The package says that no import has side effects, and those of tests have.
    ignoreAnnotations: true,
    plugins: [{ name: 'without Node', setup: withoutNode }],
  })
  return outputFiles[0]?.text as string
}

/** As the field `browser` of package.json does for an app: what needs Node becomes an empty module. */
const withoutNode: Plugin['setup'] = ({ onResolve, onLoad }) => {
  onResolve({ filter: /^node:(test|assert\/strict)$/ }, ({ path }) => ({
    path: join(HERE, path === 'node:test' ? 'node-test.ts' : 'node-assert.ts'),
  }))
  onResolve({ filter: /^(node:|bottleneck$|ioredis$)/ }, ({ path }) => ({
    path,
    namespace: 'none',
  }))
  onLoad({ filter: /adapters\/http\/index\.ts$/ }, () => ({
    contents: 'export const listen = 0, createHttpServer = 0',
  }))
  onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'module.exports = {}' }))
}
