import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The repository, wherever this file runs from: source, or the build in dist/. */
export const ROOT_URL = new URL('.', import.meta.resolve('animal-adoption-store/package.json'))
export const ROOT = fileURLToPath(ROOT_URL)

/** The folder with `src/`, `adapters/` and `test/` of the running code: the root, or dist/. */
export const CODE_URL = new URL('../../', import.meta.url)

/** For tests about what ships. */
export const BUILD_URL = new URL('dist/', ROOT_URL)

/** The command line, as a file for Node to run. */
export const MAIN = mainIn(CODE_URL)

/** The bundle that ships; coverage and mutants run the modules that it is made of. */
export function mainIn(folder: URL): string {
  const bundle = fileURLToPath(new URL('adapters/cli/main.cjs', folder))
  return existsSync(bundle) ? bundle : bundle.replace('.cjs', '.js')
}
