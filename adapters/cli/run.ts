import { OptionError } from '../../src/options.js'
import { type Flags, helpText, parseCommandLine, UsageError } from './flags.js'
import { readVariables } from './variables.js'

/**
 * The command line. Exit codes: 0 ok, 1 runtime failure, 2 invalid usage or input file. A failure
 * is one line on stderr.
 */
export async function run(words: readonly string[]): Promise<void> {
  process.stdout.on('error', failToWrite)
  // Nothing is left to report it on.
  process.stderr.on('error', () => {})
  let sources: ReadonlyMap<string, string> = new Map()
  try {
    if (words[0] === 'verify') return await runVerify(words.slice(1))
    const variables = readVariables(process.env)
    sources = variables.sources
    const { command, flags, rest } = parseCommandLine(words, variables.flags)
    if (flags.help || command === 'help') process.stdout.write(helpText())
    else if (flags.version || command === 'version') await printVersion()
    else if (command === 'openapi') await printOpenApi(flags)
    else if (command === 'exec') await runExec(flags, rest)
    else if (command === 'copy') await runCopy(rest)
    else await runServe(flags)
  } catch (error) {
    fail(error, sources)
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

async function runServe(flags: Flags): Promise<void> {
  const { serve } = await import('./serve.js')
  await serve(flags, stopOnSignal)
}

async function runCopy(words: readonly string[]): Promise<void> {
  const { copy } = await import('./copy.js')
  await copy(words)
}

/** Options of its own, and none from the environment. */
async function runVerify(words: readonly string[]): Promise<void> {
  const { verifyCommand } = await import('./verify.js')
  process.exitCode = await verifyCommand(words)
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

/** @param sources options that came from the environment, with the variable to correct */
function fail(error: unknown, sources: ReadonlyMap<string, string> = new Map()): void {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  const hints = [...sources]
    .filter(([name]) => new RegExp(`--${name}[ :]`).test(line))
    .map(([name, variable]) => ` (--${name} is set by ${variable})`)
  process.stderr.write(`animal-adoption-store: ${line}${hints.join('')}\n`)
  process.exitCode = error instanceof UsageError || error instanceof OptionError ? 2 : 1
}

/** A reader that closes early, such as `head`, is not a failure. */
function failToWrite(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  fail(new Error(`cannot write the output: ${error.code}`))
  process.exit()
}
