import { createRequire } from 'node:module'

/** Put in by the bundle, which need not look for the file then. */
declare const BUNDLED_VERSION: string | undefined

/** The version of this package. */
export function version(): string {
  if (typeof BUNDLED_VERSION !== 'undefined') return BUNDLED_VERSION
  const manifest = createRequire(import.meta.url)('animal-adoption-store/package.json')
  return (manifest as { version: string }).version
}
