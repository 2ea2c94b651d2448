import type {
  DescribedSettings,
  ExecSettings,
  KeysSettings,
  ReplaySettings,
  ServeSettings,
  VerifySettings,
} from './options.js'
import { print } from './print.js'
import { describedBy, skill } from './serve/docs-on-demand.js'
import type { Stop } from './serve/serve.js'

export interface Call {
  readonly operands: readonly string[]
  readonly given: ReadonlyMap<string, string>
  stopOnSignal(stop: Stop): void
}

/** Loads and runs a command; resolves with a nonzero exit code. May throw UsageError. */
export const ACTIONS = {
  serve: async (settings: ServeSettings, { stopOnSignal }: Call) =>
    (await import('./serve/serve.js')).serve(settings, stopOnSignal),
  async exec(settings: ExecSettings, { operands, given }: Call) {
    if (settings.explore)
      return (await import('./exec/explore.js')).explore(settings, operands, given)
    if (settings.through === undefined) {
      return (await import('./exec/exec.js')).exec(settings, operands, given)
    }
    const { execThrough } = await import('./exec/exec-through.js')
    return execThrough(settings, settings.through, operands, given)
  },
  copy: async (_: unknown, { operands: [from = '', to = ''] }: Call) =>
    (await import('./tools/copy.js')).copy(from, to),
  check: async (_: unknown, { operands: [name = ''] }: Call) =>
    (await import('./tools/check.js')).check(name),
  verify: async (settings: VerifySettings, { operands: [baseUrl] }: Call) =>
    (await import('./tools/verify.js')).verifyCommand(settings, baseUrl),
  keys: async (settings: KeysSettings, { operands }: Call) =>
    (await import('./tools/keys.js')).keysCommand(settings, operands),
  replay: async (settings: ReplaySettings, { operands: [path = ''], stopOnSignal }: Call) =>
    (await import('./tools/replay.js')).replayCommand(settings, path, stopOnSignal),
  diff: async (_: unknown, { operands: [good = '', bad = ''] }: Call) =>
    (await import('./tools/diff.js')).diffCommand(good, bad),
  async openapi(settings: DescribedSettings) {
    const { openApiJson } = await import('../pages/openapi/openapi.js')
    print(`${openApiJson(describedBy(settings))}\n`)
  },
  async skill() {
    print(await skill())
  },
}
