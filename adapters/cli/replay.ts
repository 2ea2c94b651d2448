import { count } from '../../src/lib/count.js'
import { withConsole } from '../console/index.js'
import { isServiceUrl } from '../judge/options.js'
import { DEMO_KEYS } from '../test-double/demo-keys.js'
import { type AgainstResult, sendSteps } from '../test-double/recording/against.js'
import type { RecordingFile, Step } from '../test-double/recording/format.js'
import { createDoubleFor, type Difference, takeSteps } from '../test-double/recording/replay.js'
import { isKey } from '../verify/options.js'
import { readKey } from './api-key.js'
import { viewOf, viewsOf } from './environment.js'
import { type Flag, type FlagTable, parseOptions, UsageError, wholeNumber } from './flags.js'
import { helpRows } from './help.js'
import { listenOn } from './listen-on.js'
import { readRecordingFile } from './recording-file.js'
import type { Stop } from './serve.js'
import { withoutUrl } from './without-secrets.js'

const FLAGS = {
  until: { value: 'n', help: 'the last step to replay (all)' },
  check: { help: 'only compare, without a console' },
  port: { short: 'p', value: 'n', help: 'port of the console; 0 picks a free one (4280)' },
  against: { value: 'base-url', help: 'send the requests to this server instead' },
  'key-env': { value: 'name', help: 'environment variable with the key of that server' },
  help: { short: 'h', help: 'print this help' },
} as const satisfies Record<string, Flag>

const TABLE: FlagTable = new Map(Object.entries(FLAGS))

type Flags = { readonly [name in Exclude<keyof typeof FLAGS, 'help' | 'check'>]?: string } & {
  readonly help?: boolean
  readonly check?: boolean
}

/**
 * `replay <run.json>`: rebuilds the state after any step of a recording and opens the console there,
 * or sends its requests to a server.
 *
 * @returns the exit code: 0 when every step came out as recorded, 1 otherwise
 * @throws UsageError
 */
export async function replayCommand(
  words: readonly string[],
  stopOnSignal: (stop: Stop) => void,
): Promise<number> {
  const operands: string[] = []
  const flags = parseOptions(words, TABLE, word => operands.push(word)) as Flags
  if (flags.help) return print(helpText(), 0)
  const [path, ...others] = operands
  if (path === undefined || path === '' || others.length > 0) {
    throw new UsageError('replay takes one file of exec --record: replay <run.json>')
  }
  if (flags['key-env'] !== undefined && flags.against === undefined) {
    throw new UsageError('--key-env needs --against <base-url>', '--key-env')
  }
  const other = flags.check ? '--check' : flags.against !== undefined && '--against'
  if (flags.port !== undefined && other) {
    throw new UsageError(
      `--port cannot be combined with ${other}, which opens no console`,
      '--port',
      other,
    )
  }
  const file = await readRecordingFile(path)
  const until = readStep(flags.until, path, file)
  if (flags.against !== undefined) return against(path, file, flags.against, flags, until)
  return show(path, file, flags, until, stopOnSignal)
}

/** @throws UsageError */
function readStep(given: string | undefined, path: string, { steps }: RecordingFile): number {
  if (given === undefined) return steps.length
  if (/^\d{1,9}$/.test(given) && Number(given) <= steps.length) return Number(given)
  throw new UsageError(
    `--until takes a step from 0 to ${steps.length}, the last one of ${path}, got '${withoutUrl(given)}'`,
    '--until',
  )
}

async function show(
  path: string,
  file: RecordingFile,
  flags: Flags,
  until: number,
  stopOnSignal: (stop: Stop) => void,
): Promise<number> {
  const port = wholeNumber(flags, 'port', 65_535) ?? 4280
  const { controlled, shown } = openConsole(file)
  const { double } = controlled
  const send = flags.check ? double.handler : shown
  const difference = await takeSteps(controlled, file, {
    until,
    send: request => send.handle(request),
  })
  if (difference) return tell(path, file, difference)
  if (flags.check && until === 0) {
    return fail(`${path}: nothing was compared: it has no step${upTo(until, file)}`)
  }
  const last = file.steps[until - 1]
  process.stdout.write(`${path}: ${count(until, 'step')}, all as recorded.\n`)
  if (flags.check) {
    await double.close()
    return 0
  }
  const server = await listenOn(shown, { host: '127.0.0.1', port }, 'port')
  stopOnSignal(async () => {
    await double.close()
    await server.close()
  })
  const now = new Date(double.clock.now()).toISOString()
  const place = last ? `After step ${until}, ${describe(last)}` : 'Before the first step'
  process.stdout.write(`${place}, with the clock at ${now}.\n`)
  process.stdout.write(`Console  ${server.origin}/\n`)
  return 0
}

/** Requests go through the console, so that it lists them. */
function openConsole(file: RecordingFile) {
  const controlled = createDoubleFor(file)
  const { double, worlds } = controlled
  const isUnlimited = file.begin.options['rateLimit'] === false
  const flags = isUnlimited ? { 'no-rate-limit': true } : {}
  const keys = Object.fromEntries(file.begin.keys.map(({ name, ...record }) => [name, record]))
  const shown = withConsole(double.handler, {
    ...viewOf(() => ({ double, apiKeys: keys }), flags),
    control: true,
    // Names of keys are no secrets, and valid here only.
    isPublicKey: key => Object.hasOwn(keys, key),
    worlds: () => viewsOf(worlds.open, flags),
  })
  return { controlled, shown }
}

function tell(path: string, { steps }: RecordingFile, { step, what }: Difference): number {
  const recorded = steps[step - 1]
  const place = recorded ? ` (${describe(recorded)})` : ''
  return fail(
    `${path}: step ${step}${place} came out otherwise: ${what}; replay ${path} --until ${step - 1} opens the state before it`,
  )
}

async function against(
  path: string,
  file: RecordingFile,
  baseUrl: string,
  flags: Flags,
  until: number,
): Promise<number> {
  // Not shown: it may hold a password.
  if (!isServiceUrl.accepts(baseUrl)) {
    throw new UsageError(
      '--against takes the base URL of a server, such as http://127.0.0.1:4280/v1, without user name, query and fragment',
      '--against',
    )
  }
  const keyOf = readKeys(file, flags)
  const result = await sendOrFail(file, baseUrl, keyOf, until)
  const { difference, compared, sent, left } = result
  if (difference) return fail(`${path}: step ${difference.step}: ${difference.what}`)
  if (compared > 0) return print(`${path}: ${equalText(result)}.\n`, 0)
  const requests = sent + left
  const found = requests === 0 ? 'it has no request' : count(requests, 'request')
  const rest = requests === 0 ? '' : ' cannot be'
  return fail(`${path}: nothing was compared: ${found}${upTo(until, file)}${rest}`)
}

/** Where only a part was to be compared. */
function upTo(until: number, { steps }: RecordingFile): string {
  return until < steps.length ? ` up to step ${until}` : ''
}

function equalText({ sent, compared, left }: AgainstResult): string {
  const malformed = sent - compared
  const equal = malformed === 0 ? 'all' : compared
  const others = malformed === 0 ? '' : `, ${malformed} not compared`
  const were = left === 1 ? 'was' : 'were'
  const rest = left === 0 ? '' : `; ${left} cannot be compared and ${were} left out`
  return `${count(sent, 'request')} sent, ${equal} answered as recorded${others}${rest}`
}

async function sendOrFail(
  file: RecordingFile,
  baseUrl: string,
  keyOf: (name: string) => string,
  until: number,
): Promise<AgainstResult> {
  try {
    return await sendSteps(file, { baseUrl, keyOf, until })
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: unknown } }
    const why = typeof cause?.code === 'string' ? cause.code : message
    throw new Error(`${new URL(baseUrl).host} cannot be reached: ${why}`)
  }
}

/** @throws UsageError when a key is needed that the file only names */
function readKeys({ begin, steps }: RecordingFile, flags: Flags): (name: string) => string {
  const variable = flags['key-env']
  const given = readKey({ 'key-env': variable }, 'key')
  if (given !== undefined && !isKey.accepts(given)) {
    throw new UsageError(
      `--key-env names ${variable}, whose key has to be ${isKey.expected}`,
      '--key-env',
    )
  }
  const added = steps.flatMap(step => (step.do === 'key' ? [step.key] : []))
  const names = new Set([...begin.keys, ...added].map(({ name }) => name))
  const secret = [...names].filter(name => !Object.hasOwn(DEMO_KEYS, name))
  const isUsed = steps.some(
    step =>
      step.do === 'send' &&
      secret.some(name => step.request.headers['authorization'] === `Bearer ${name}`),
  )
  if (isUsed && given === undefined) {
    throw new UsageError(
      'The recording names its API keys and does not hold them; add --key-env <name> for the key of the server',
      '--key-env',
    )
  }
  return name => (given !== undefined && names.has(name) ? given : name)
}

/** A step in a few words. */
export function describe(step: Step): string {
  const where = step.world === undefined ? '' : ` in world ${step.world}`
  switch (step.do) {
    case 'send':
      return `request ${step.id}, ${step.request.method} ${step.request.path}${where}`
    case 'run':
      return `request ${step.id} runs after its delay${where}`
    case 'answer':
      return `the response to request ${step.id}${where}`
    default:
      return `${step.do}${where}`
  }
}

export function fail(line: string): number {
  process.stderr.write(`animal-adoption-store: ${line}\n`)
  return 1
}

function print(text: string, code: number): number {
  process.stdout.write(text)
  return code
}

function helpText(): string {
  return `Usage: animal-adoption-store replay <run.json> [options]

Rebuilds the state after any step of a recording of exec --record, and opens the console there.
Exit codes: 0 every step came out as recorded, 1 one did not, 2 the file cannot be replayed.

${helpRows(TABLE)}
`
}
