// `npm pack` and `npm publish` build first. Without the dev dependencies, say what to run.
import { execSync } from 'node:child_process'
import { existsSync } from 'node:fs'

if (!existsSync('node_modules/typescript')) {
  console.error('Cannot build animal-adoption-store: run `npm install` in the checkout first.')
  process.exit(1)
}
execSync('npm run --silent build', { stdio: 'inherit' })
