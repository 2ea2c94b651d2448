import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `npm run test:engines`: every test of an engine, in its long form, and none of them skipped. */
const [, , command] = process.argv
if (command === 'run') {
  const names = [
    'postgres',
    'postgres-open',
    'redis',
    'redis-circuit-breaker',
    'engines',
    'cli-engines',
  ]
  const files = names.map(name => fileURLToPath(new URL(`../${name}.test.js`, import.meta.url)))
  const env = { ...process.env, ADOPTION_STORE_ENGINES: 'required', ADOPTION_STORE_CHAOS: 'long' }
  const { status } = spawnSync(process.execPath, ['--test', ...files], { env, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
