import { OptionError } from '../../src/lib/options.js'
import type { VerifyOptions } from '../verify/index.js'
import { reportJUnit } from '../verify/junit.js'
import { resultText, summaryText } from '../verify/report.js'
import { prepare, selectChecks, sumOfRequests, verify } from '../verify/verify.js'
import { VerifyError } from '../verify/verify-error.js'
import { readKey } from './api-key.js'
import { type Flag, type FlagTable, parseOptions, UsageError, usageError } from './flags.js'
import { helpRows } from './help.js'
import { writeOutputs } from './output.js'
import { createProgress } from './progress.js'

const FLAGS = {
  key: { value: 'key', help: 'API key' },
  'key-env': { value: 'NAME', help: 'environment variable that holds the API key' },
  'spare-key': { value: 'key', help: 'throwaway key for --limits' },
  'spare-key-env': { value: 'NAME', help: 'environment variable that holds the spare key' },
  limits: { help: 'exhaust the spare key: 429, Retry-After and temporary ban' },
  idempotency: { help: 'also check Idempotency-Key' },
  'read-only': { help: 'create no animals' },
  openapi: { value: 'url', help: 'check the description at this address, too' },
  only: {
    value: 'id',
    isList: true,
    help: 'these checks or groups, such as auth; may be repeated',
  },
  skip: { value: 'id', isList: true, help: 'not these checks or groups; may be repeated' },
  bail: { help: 'stop at the first broken MUST' },
  list: { help: 'print the checks and send nothing' },
  json: { help: 'print the report as JSON' },
  junit: { value: 'file.xml', help: 'write the report as JUnit XML' },
  help: { short: 'h', help: 'print this help' },
} as const satisfies Record<string, Flag>

const TABLE: FlagTable = new Map(Object.entries(FLAGS))

type Flags = {
  readonly [name in keyof typeof FLAGS]?: (typeof FLAGS)[name] extends { value: string }
    ? string
    : boolean
}

/**
 * Checks a server from outside.
 *
 * @returns the exit code: 1 when a MUST is broken
 * @throws UsageError, also for a server that cannot be verified
 */
export async function verifyCommand(words: readonly string[]): Promise<number> {
  const operands: string[] = []
  const flags = parseOptions(words, TABLE, word => operands.push(word)) as Flags
  if (flags.help) return print(helpText())
  try {
    if (flags.list) return print(listText(flags))
    return await verifyServer(flags, operands)
  } catch (error) {
    if (error instanceof VerifyError) throw new UsageError(error.message)
    if (error instanceof OptionError) throw usageError(error, flagOf(error.option))
    throw error
  }
}

async function verifyServer(flags: Flags, operands: readonly string[]): Promise<number> {
  const [baseUrl, ...others] = operands
  // Not shown: it may be a key.
  if (baseUrl === undefined || others.length > 0) {
    throw new UsageError('verify takes one address: verify <base-url> --key <key>')
  }
  const apiKey = readKey(flags, 'key')
  if (apiKey === undefined) {
    throw new UsageError('verify needs an API key: add --key <key> or --key-env <NAME>')
  }
  const options: VerifyOptions = {
    baseUrl,
    apiKey,
    spareKey: readKey(flags, 'spare-key'),
    limits: flags.limits,
    idempotency: flags.idempotency,
    readOnly: flags['read-only'],
    only: ids(flags.only),
    skip: ids(flags.skip),
    bail: flags.bail,
    openApiUrl: flags.openapi,
  }
  // Checks the options before anything is shown: an address may hold a password.
  const { checks } = prepare(options)
  const progress = createProgress(checks.length)
  const started = Date.now()
  if (!flags.json && !progress.isShown) {
    // And one to see whether the server can be verified.
    const most = sumOfRequests(checks) + 1
    print(`Verifying ${baseUrl}. Checks: ${checks.length}, requests: at most ${most}\n`)
  }
  const shown = showProgress(progress, flags)
  const report = await verify({ ...options, ...shown.callbacks }).finally(shown.end)
  print(flags.json ? `${JSON.stringify(report)}\n` : summaryText(report, Date.now() - started))
  await writeOutputs([{ flag: '--junit', path: flags.junit, text: () => reportJUnit(report) }])
  return report.ok ? 0 : 1
}

type Callbacks = Required<Pick<VerifyOptions, 'onResult' | 'onWait'>>

/** A bar with the time left on a terminal, one line for each wait elsewhere. */
function showProgress(
  progress: ReturnType<typeof createProgress>,
  flags: Flags,
): { readonly callbacks: Callbacks; end(): void } {
  let done = 0
  let minutesLeft = 0
  let countdown: NodeJS.Timeout | undefined
  const end = () => {
    clearInterval(countdown)
    progress.end()
  }
  return {
    end,
    callbacks: {
      onResult(result, { checksDone, requestsLeft, limit }) {
        end()
        done = checksDone
        minutesLeft = limit === undefined ? 0 : Math.ceil(requestsLeft / limit)
        if (!flags.json && result.outcome === 'failed') print(resultText(result))
        progress.show(done)
      },
      onWait({ ms, reason }) {
        if (!progress.isShown) {
          process.stderr.write(`Waiting ${Math.ceil(ms / 1000)} s ${reason}\n`)
          return
        }
        clearInterval(countdown)
        const until = Date.now() + ms
        const left = minutesLeft > 0 ? `, about ${minutesLeft} min left` : ''
        const show = () => {
          const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000))
          progress.show(done, `waiting ${seconds} s ${reason}${left}`)
        }
        show()
        countdown = setInterval(show, 1000)
      },
    },
  }
}

function ids(list: string | undefined): readonly string[] {
  return list?.split(',').filter(id => id !== '') ?? []
}

function listText(flags: Flags): string {
  const checks = selectChecks({ only: ids(flags.only), skip: ids(flags.skip) })
  const listed = checks.map(({ id, requirement, title }) => ({ id, ...requirement, title }))
  if (flags.json) return `${JSON.stringify(listed)}\n`
  const width = Math.max(...listed.map(({ id }) => id.length))
  return listed
    .map(({ id, level, source, title }) => `${id.padEnd(width)}  ${level}, ${source}: ${title}\n`)
    .join('')
}

function helpText(): string {
  return `Usage: animal-adoption-store verify <base-url> --key <key> [options]

Checks a server of the Animal Adoption Store API from outside, within the limits of its key.
Exit codes: 0 no MUST is broken, 1 a MUST is broken, 2 the server cannot be verified.

${helpRows(TABLE)}
`
}

/** The option as it is on the command line. */
function flagOf(option: string): string {
  return Object.hasOwn(NAMES, option) ? String(NAMES[option]) : `--${option}`
}

const NAMES: Readonly<Record<string, string>> = {
  baseUrl: '<base-url>',
  apiKey: '--key',
  spareKey: '--spare-key',
  openApiUrl: '--openapi',
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}
