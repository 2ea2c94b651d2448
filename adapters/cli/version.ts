import { readFileSync } from 'node:fs'

let known: string | undefined

/** The version of this package. */
export function version(): string {
  const manifest = new URL(import.meta.resolve('animal-adoption-store/package.json'))
  known ??= (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
  return known
}
