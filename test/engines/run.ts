import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../support/paths.js'

/** `npm run test:engines`: every test of an engine, in its long form, and none of them skipped. */
const [, , command] = process.argv
if (command === 'run') {
  const runner = join(ROOT, 'test/run.mjs')
  const env = { ...process.env, ADOPTION_STORE_ENGINES: 'required', ADOPTION_STORE_CHAOS: 'long' }
  const { status } = spawnSync(process.execPath, [runner, 'postgres', 'redis', 'engines'], {
    env,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
