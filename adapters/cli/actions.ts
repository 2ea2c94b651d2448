import type { DescribedSettings, ExecSettings } from './options.js'
import { print } from './print.js'
import { describedBy, skill } from './serve/docs-on-demand.js'

/** Loads a command, whose `main` resolves with a nonzero exit code, and may throw UsageError. */
export const ACTIONS = {
  serve: () => import('./serve/serve.js'),
  exec({ explore, through }: ExecSettings) {
    if (explore) return import('./exec/explore.js')
    return through === undefined ? import('./exec/exec.js') : import('./exec/exec-through.js')
  },
  copy: () => import('./tools/copy.js'),
  check: () => import('./tools/check.js'),
  verify: () => import('./tools/verify.js'),
  keys: () => import('./tools/keys.js'),
  replay: () => import('./tools/replay.js'),
  diff: () => import('./tools/diff.js'),
  async openapi(settings: DescribedSettings) {
    const { openApiJson } = await import('../pages/openapi/openapi.js')
    return { main: () => print(`${openApiJson(describedBy(settings))}\n`) }
  },
  skill: () => ({ main: async () => print(await skill()) }),
}
