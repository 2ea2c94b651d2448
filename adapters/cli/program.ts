import { printable } from '../../src/lib/printable.js'
import { type CommandLine, parseCommandLine, readCommand, readSettings } from './command-line.js'
import type { Call, Stop } from './commands.js'
import { jsonRecord, print, printError } from './print.js'

/** Exit codes: 0 ok, 1 runtime failure, 2 invalid usage or input file. A failure is one line. */
export async function run(words: readonly string[]): Promise<void> {
  process.stdout.on('error', failToWrite)
  // stderr is gone, so there is nowhere to report this.
  process.stderr.on('error', () => {})
  let line: CommandLine | undefined
  // Node throws here, and rejects nothing, where its permission model forbids a port.
  process.on('uncaughtException', error => {
    fail(error, line)
    process.exit()
  })
  try {
    line = parseCommandLine(words, process.env)
    await runLine(line)
  } catch (error) {
    const shown = fail(error, line)
    if (line && hasResults(line))
      await (await import('./unfinished.js')).writeUnfinished(line, shown)
  }
}

function hasResults({ given }: CommandLine): boolean {
  return given.has('report') || given.has('junit')
}

async function runLine(line: CommandLine): Promise<void> {
  const { command, isNamed, given } = line
  if (given.has('help')) return printHelp(isNamed ? command : undefined)
  if (given.has('version')) return printVersion()
  if (hasResults(line)) await (await import('./unfinished.js')).removeResults(line)
  const settings = readSettings(line)
  const operands = [...line.operands, ...line.last]
  if (command === 'version') return printVersion()
  if (command === 'help') return printHelp(operands[0])
  const { ACTIONS } = await import('./actions.js')
  const call: Call = { operands, given, stopOnSignal: stop => stopOnSignal(stop, line) }
  const { main } = await ACTIONS[command](settings as never)
  process.exitCode = (await main(settings as never, call)) ?? 0
}

async function printHelp(word?: string): Promise<void> {
  const command = word === undefined ? undefined : readCommand(word)
  const { helpText } = await import('./help.js')
  print(helpText(command))
}

async function printVersion(): Promise<void> {
  const { version } = await import('./version.js')
  print(`${version()}\n`)
}

function stopOnSignal(stop: Stop, line: CommandLine): void {
  let stopping = false
  const failToStop = (error: unknown) => {
    fail(error, line)
    // Whatever failed to stop would keep the process alive.
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

/** Prints an error, and returns its message. No `line` if the command line could not be read. */
function fail(error: unknown, line?: CommandLine): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  // Compared by name, as each file of the bundle has its own classes.
  const isUsage = name === 'UsageError' || name === 'OptionError'
  // Usage errors are one line. Of other errors, print the first line.
  const text = printable(isUsage ? message : (message.split('\n')[0] ?? ''))
  const hints = [...(line?.variables ?? [])]
    .filter(([flag]) => text.split(/[^\w-]/).includes(flag))
    .map(([flag, variable]) => ` (${flag} is set by ${variable})`)
  const shown = `${text}${hints.join('')}`
  const asJson = line?.given.get('log') === 'json'
  const record = () => jsonRecord('failed', { message: shown }, Date.now())
  printError(`${asJson ? record() : `animal-adoption-store: ${shown}`}\n`)
  process.exitCode = isUsage ? 2 : 1
  return shown
}

/** A reader that closes early, such as `head`, is not a failure. */
function failToWrite(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  fail(new Error(`cannot write the output: ${error.code}`))
  process.exit()
}
