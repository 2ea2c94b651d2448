import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Set by the bundle, which then need not look for the file. */
declare const BUNDLED_VERSION: string | undefined
declare const BUNDLED_ENGINE: string | undefined

export function version(): string {
  if (typeof BUNDLED_VERSION !== 'undefined') return BUNDLED_VERSION
  return manifest().version
}

/** The oldest supported Node, such as `20.15`. */
export function neededNode(): string {
  const engine = typeof BUNDLED_ENGINE === 'undefined' ? manifest().engines.node : BUNDLED_ENGINE
  return engine.slice('>='.length)
}

/** Resolves a file that the package ships as it is in the sources. */
export function packagePath(path: string): string {
  const require = createRequire(import.meta.url)
  return join(dirname(require.resolve('animal-adoption-store/package.json')), path)
}

function manifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  return createRequire(import.meta.url)('animal-adoption-store/package.json')
}
