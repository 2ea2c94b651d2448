import type { Settings } from './commands.js'
import type { Stop } from './serve.js'

/** What a command receives besides its settings. */
export interface Call {
  readonly operands: readonly string[]
  /** The options as they were written, for a command to repeat. */
  readonly given: ReadonlyMap<string, string>
  stopOnSignal(stop: Stop): void
  /** Writes to stdout, and rejects where that fails. */
  write(text: string): Promise<void>
}

/**
 * Runs a command, whose code is loaded only then.
 *
 * @returns the exit code
 * @throws UsageError, and whatever a socket or a storage throws
 */
export async function runCommand<C extends keyof Settings>(
  command: C,
  settings: Settings[C],
  call: Call,
): Promise<number> {
  const code = await ACTIONS[command](settings, call)
  return typeof code === 'number' ? code : 0
}

const ACTIONS: {
  readonly [C in keyof Settings]: (settings: Settings[C], call: Call) => Promise<unknown>
} = {
  serve: async (settings, { stopOnSignal }) =>
    (await import('./serve.js')).serve(settings, stopOnSignal),
  async exec(settings, { operands, given }) {
    if (settings.explore) return (await import('./explore.js')).explore(settings, operands, given)
    if (settings.through === undefined) return (await import('./exec.js')).exec(settings, operands)
    return (await import('./through.js')).execThrough(settings, settings.through, operands)
  },
  copy: async (_, { operands: [from = '', to = ''] }) => (await import('./copy.js')).copy(from, to),
  check: async (_, { operands: [name = ''] }) => (await import('./check.js')).check(name),
  verify: async (settings, { operands: [baseUrl] }) =>
    (await import('./verify.js')).verifyCommand(settings, baseUrl),
  keys: async (settings, call) => (await import('./keys.js')).keysCommand(settings, call),
  replay: async (settings, { operands: [path = ''], stopOnSignal }) =>
    (await import('./replay.js')).replayCommand(settings, path, stopOnSignal),
  diff: async (_, { operands: [good = '', bad = ''] }) =>
    (await import('./diff.js')).diffCommand(good, bad),
  async openapi({ keys, pagination, rateLimit, idempotency }) {
    const { openApiJson } = await import('../openapi/openapi.js')
    const { DEMO_KEYS } = await import('../test-double/demo-keys.js')
    const demoKeys = keys === undefined ? Object.keys(DEMO_KEYS) : []
    const features = { pagination, rateLimit, idempotency: idempotency !== undefined }
    process.stdout.write(`${openApiJson({ ...features, demoKeys })}\n`)
  },
}
