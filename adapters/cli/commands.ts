import { type Flags, rateLimitMode } from './flags.js'
import type { Write } from './keys.js'
import type { Stop } from './serve.js'

/** The commands that take more than the command line itself, each loaded when it runs. */
export async function runServe(flags: Flags, stopOnSignal: (stop: Stop) => void): Promise<void> {
  const { serve } = await import('./serve.js')
  await serve(flags, stopOnSignal)
}

export async function runExec(flags: Flags, words: readonly string[]): Promise<void> {
  if (flags.explore) {
    const { explore } = await import('./explore.js')
    process.exitCode = await explore(flags, words)
    return
  }
  if (flags.through !== undefined) {
    const { execThrough } = await import('./through.js')
    process.exitCode = await execThrough(flags, flags.through, words)
    return
  }
  const { exec } = await import('./exec.js')
  process.exitCode = await exec(flags, words)
}

export async function runCopy(words: readonly string[]): Promise<void> {
  const { copy } = await import('./copy.js')
  await copy(words)
}

export async function runCheck(words: readonly string[]): Promise<void> {
  const { check } = await import('./check.js')
  process.exitCode = await check(words)
}

export async function runKeys(words: readonly string[], write: Write): Promise<void> {
  const { keysCommand } = await import('./keys.js')
  await keysCommand(words, write)
}

export async function runReplay(
  words: readonly string[],
  stopOnSignal: (stop: Stop) => void,
): Promise<void> {
  const { replayCommand } = await import('./replay.js')
  process.exitCode = await replayCommand(words, stopOnSignal)
}

export async function runDiff(words: readonly string[]): Promise<void> {
  const { diffCommand } = await import('./diff.js')
  process.exitCode = await diffCommand(words)
}

export async function printOpenApi(flags: Flags): Promise<void> {
  const { openApiJson } = await import('../openapi/openapi.js')
  const { DEMO_KEYS } = await import('../test-double/demo-keys.js')
  const { pagination, keys, idempotency } = flags
  const demoKeys = keys === undefined ? Object.keys(DEMO_KEYS) : []
  const features = { rateLimit: rateLimitMode(flags), idempotency: idempotency !== undefined }
  process.stdout.write(`${openApiJson({ pagination, ...features, demoKeys })}\n`)
}
