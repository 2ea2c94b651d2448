import { printable } from '../../src/lib/printable.js'
import { type Command, type Flags, parseCommandLine, readCommand, UsageError } from './flags.js'
import type { Stop } from './serve.js'
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
  let asJson = false
  try {
    if (words[0] === 'verify') return await runVerify(words.slice(1))
    if (words[0] === 'keys') return await runKeys(words.slice(1))
    if (words[0] === 'replay') return await runReplay(words.slice(1))
    if (words[0] === 'diff') return await runDiff(words.slice(1))
    const variables = readVariables(process.env)
    sources = variables.sources
    const { command, isNamed, flags, rest } = parseCommandLine(words, variables.flags)
    asJson = flags.log === 'json'
    if (command === 'help') await printHelp(rest)
    else if (flags.help) await printHelp(isNamed ? [command] : [])
    else if (flags.version || command === 'version') await printVersion()
    else await runCommand(command, flags, rest)
  } catch (error) {
    fail(error, sources, asJson)
  }
}

async function printHelp([word, ...others]: readonly string[]): Promise<void> {
  if (others.length > 0) throw new UsageError('help takes one command: help [command]')
  const command = word === undefined ? undefined : readCommand(word)
  if (command === 'verify') return runVerify(['--help'])
  if (command === 'keys') return runKeys(['--help'])
  if (command === 'replay') return runReplay(['--help'])
  if (command === 'diff') return runDiff(['--help'])
  const { helpText } = await import('./help.js')
  process.stdout.write(helpText(command))
}

async function printVersion(): Promise<void> {
  const { version } = await import('./version.js')
  process.stdout.write(`${version()}\n`)
}

async function runCommand(command: Command, flags: Flags, rest: readonly string[]): Promise<void> {
  const commands = await import('./commands.js')
  if (command === 'openapi') await commands.printOpenApi(flags)
  else if (command === 'exec') await commands.runExec(flags, rest)
  else if (command === 'copy') await commands.runCopy(rest)
  else if (command === 'check') await commands.runCheck(rest)
  else await commands.runServe(flags, stop => stopOnSignal(stop, flags.log === 'json'))
}

/** Options of its own, and none from the environment. */
async function runVerify(words: readonly string[]): Promise<void> {
  const { verifyCommand } = await import('./verify.js')
  process.exitCode = await verifyCommand(words)
}

/** Options of its own as well. */
async function runKeys(words: readonly string[]): Promise<void> {
  const commands = await import('./commands.js')
  await commands.runKeys(words, writeOrFail)
}

async function runReplay(words: readonly string[]): Promise<void> {
  const commands = await import('./commands.js')
  await commands.runReplay(words, stopOnSignal)
}

async function runDiff(words: readonly string[]): Promise<void> {
  const commands = await import('./commands.js')
  await commands.runDiff(words)
}

function stopOnSignal(stop: Stop, asJson = false): void {
  let stopping = false
  const failToStop = (error: unknown) => {
    fail(error, undefined, asJson)
    // What could not be stopped would go on.
    process.exit()
  }
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15 })) {
    process.on(signal, () => {
      if (stopping) process.exit(128 + number)
      stopping = true
      stop(signal).then(() => process.exit(0), failToStop)
    })
  }
}

interface Failure extends Pick<Error, 'name' | 'message'> {
  /** The options to correct, such as `--port`. */
  readonly flags?: readonly string[]
}

/** @param sources options that came from the environment, with the variable to correct */
function fail(
  error: unknown,
  sources: ReadonlyMap<string, string> = new Map(),
  asJson = false,
): void {
  const {
    name,
    message,
    flags = [],
  } = (error instanceof Error ? error : { name: '', message: String(error) }) as Failure
  // By name, as each file of the bundle has classes of its own.
  const isUsage = name === 'UsageError' || name === 'OptionError'
  // Those are one line but for the data in them; of others, such as a missing module, the first says it.
  const line = printable(isUsage ? message : (message.split('\n')[0] ?? ''))
  const hints = [...sources]
    .filter(([option]) => flags.includes(`--${option}`))
    .map(([option, variable]) => ` (--${option} is set by ${variable})`)
  const text = `${line}${hints.join('')}`
  const record = { time: new Date().toISOString(), event: 'failed', message: text }
  process.stderr.write(`${asJson ? JSON.stringify(record) : `animal-adoption-store: ${text}`}\n`)
  process.exitCode = isUsage ? 2 : 1
}

/** A reader that closes early, such as `head`, is not a failure. */
function failToWrite(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  fail(new Error(`cannot write the output: ${error.code}`))
  process.exit()
}

/** For a text that must arrive. */
function writeOrFail(text: string): Promise<void> {
  const { stdout } = process
  return new Promise((resolve, reject) => {
    // It would end the process before the caller can act.
    stdout.off('error', failToWrite).once('error', reject)
    stdout.write(text, error => {
      if (error) return
      stdout.off('error', reject).on('error', failToWrite)
      resolve()
    })
  })
}
