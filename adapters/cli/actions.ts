import { describedBy, skill } from './docs.js'
import type {
  DescribedSettings,
  ExecSettings,
  KeysSettings,
  ReplaySettings,
  ServeSettings,
  VerifySettings,
} from './options.js'
import type { Stop } from './serve.js'

/** What a command receives besides its settings. */
export interface Call {
  readonly operands: readonly string[]
  /** The options as they were written, for a command to repeat. */
  readonly given: ReadonlyMap<string, string>
  stopOnSignal(stop: Stop): void
}

/**
 * Runs a command, whose code is loaded only then, and resolves with its exit code, if it is not 0. It throws
 * UsageError, and whatever a socket or a storage throws.
 */
export const ACTIONS = {
  serve: async (settings: ServeSettings, { stopOnSignal }: Call) =>
    (await import('./serve.js')).serve(settings, stopOnSignal),
  async exec(settings: ExecSettings, { operands, given }: Call) {
    if (settings.explore) return (await import('./explore.js')).explore(settings, operands, given)
    if (settings.through === undefined) {
      return (await import('./exec.js')).exec(settings, operands, given)
    }
    return (await import('./through.js')).execThrough(settings, settings.through, operands, given)
  },
  copy: async (_: unknown, { operands: [from = '', to = ''] }: Call) =>
    (await import('./copy.js')).copy(from, to),
  check: async (_: unknown, { operands: [name = ''] }: Call) =>
    (await import('./check.js')).check(name),
  verify: async (settings: VerifySettings, { operands: [baseUrl] }: Call) =>
    (await import('./verify.js')).verifyCommand(settings, baseUrl),
  keys: async (settings: KeysSettings, { operands }: Call) =>
    (await import('./keys.js')).keysCommand(settings, operands),
  replay: async (settings: ReplaySettings, { operands: [path = ''], stopOnSignal }: Call) =>
    (await import('./replay.js')).replayCommand(settings, path, stopOnSignal),
  diff: async (_: unknown, { operands: [good = '', bad = ''] }: Call) =>
    (await import('./diff.js')).diffCommand(good, bad),
  async openapi(settings: DescribedSettings) {
    const { openApiJson } = await import('../openapi/openapi.js')
    process.stdout.write(`${openApiJson(describedBy(settings))}\n`)
  },
  async skill() {
    process.stdout.write(await skill())
  },
}
