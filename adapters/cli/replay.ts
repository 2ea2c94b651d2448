import { count } from '../../src/lib/count.js'
import { withConsole } from '../console/index.js'
import type { RecordingFile, Step } from '../test-double/recording/file.js'
import {
  createDoubleFor,
  type Difference,
  takeSteps,
} from '../test-double/recording/replay-steps.js'
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
  help: { short: 'h', help: 'print this help' },
} as const satisfies Record<string, Flag>

const TABLE: FlagTable = new Map(Object.entries(FLAGS))

type Flags = { readonly [name in Exclude<keyof typeof FLAGS, 'help' | 'check'>]?: string } & {
  readonly help?: boolean
  readonly check?: boolean
}

/**
 * `replay <run.json>`: rebuilds the state after any step of a recording and opens the console there.
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
  if (flags.port !== undefined && flags.check) {
    throw new UsageError(
      '--port cannot be combined with --check, which opens no console',
      '--port',
      '--check',
    )
  }
  const file = await readRecordingFile(path)
  const until = readStep(flags.until, path, file)
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

/** Where only a part was to be compared. */
function upTo(until: number, { steps }: RecordingFile): string {
  return until < steps.length ? ` up to step ${until}` : ''
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
