import { OptionError } from '../../src/options.js'
import { type Flags, helpText, parseCommandLine, UsageError } from './flags.js'
import { serve } from './serve.js'

/**
 * The command line. Exit codes: 0 ok, 1 a failure while running, 2 something typed, or a file it
 * names, is not right. A failure is one line on stderr.
 */
export async function run(words: readonly string[]): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe)
  try {
    const { command, flags, rest } = parseCommandLine(words)
    if (flags.help) process.stdout.write(helpText())
    else if (flags.version) await printVersion()
    else if (command === 'openapi') await printOpenApi(flags)
    else if (command === 'exec') await runExec(flags, rest)
    else if (command === 'copy') await runCopy(rest)
    else await serve(flags, stopOnSignal)
  } catch (error) {
    fail(error)
  }
}

async function printVersion(): Promise<void> {
  const { version } = await import('./version.js')
  process.stdout.write(`${version()}\n`)
}

async function printOpenApi(flags: Flags): Promise<void> {
  const { openApiJson } = await import('../openapi/openapi.js')
  const { DEMO_KEYS } = await import('../demo-keys.js')
  const { pagination, keys, 'no-rate-limit': unlimited } = flags
  const demoKeys = keys === undefined ? Object.keys(DEMO_KEYS) : []
  process.stdout.write(`${await openApiJson({ pagination, rateLimit: !unlimited, demoKeys })}\n`)
}

async function runExec(flags: Flags, words: readonly string[]): Promise<void> {
  const { exec } = await import('./exec.js')
  process.exitCode = await exec(flags, words)
}

async function runCopy(words: readonly string[]): Promise<void> {
  const { copy } = await import('./copy.js')
  await copy(words)
}

function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15 })) {
    process.on(signal, () => {
      if (stopping) process.exit(128 + number)
      stopping = true
      stop().then(() => process.exit(0), fail)
    })
  }
}

function fail(error: unknown): void {
  const [line] = (error instanceof Error ? error.message : String(error)).split('\n')
  process.stderr.write(`animal-adoption-store: ${line}\n`)
  process.exitCode = error instanceof UsageError || error instanceof OptionError ? 2 : 1
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
