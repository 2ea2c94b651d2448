import { createRequire } from 'node:module'

/** Put in by the bundle, which need not look for the file then. */
declare const BUNDLED_VERSION: string | undefined
declare const BUNDLED_ENGINE: string | undefined

/** The version of this package. */
export function version(): string {
  if (typeof BUNDLED_VERSION !== 'undefined') return BUNDLED_VERSION
  return manifest().version
}

/** The oldest Node that it runs on, such as `20.15`. */
export function neededNode(): string {
  const engine = typeof BUNDLED_ENGINE === 'undefined' ? manifest().engines.node : BUNDLED_ENGINE
  return engine.slice('>='.length)
}

function manifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  return createRequire(import.meta.url)('animal-adoption-store/package.json')
}
