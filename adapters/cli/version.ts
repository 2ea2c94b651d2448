import { createRequire } from 'node:module'

/** The version of this package. */
export function version(): string {
  const manifest = createRequire(import.meta.url)('animal-adoption-store/package.json')
  return (manifest as { version: string }).version
}
