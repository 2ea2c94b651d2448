import { count } from '../../../src/lib/pluralize.js'
import { withConsole } from '../../pages/console/index.js'
import { describe } from '../../test-double/recording/diff.js'
import {
  RecordingError,
  type RecordingFile,
  readRecording,
} from '../../test-double/recording/file.js'
import { createDoubleFor, keysOf, takeSteps } from '../../test-double/recording/replay-steps.js'
import type { Call } from '../commands.js'
import type { ReplaySettings } from '../options.js'
import { note, print } from '../print.js'
import { readBytes } from '../read-and-write-files.js'
import { viewOf, viewsOf } from '../serve/controlled-store.js'
import { listenOn } from '../serve/listen-on-port.js'
import { controlToken } from '../serve/served-store.js'
import { UsageError } from '../usage-error.js'

/** @returns the exit code: 0 if every step came out as recorded, otherwise 1 */
export async function main(
  { until: given, check, port }: ReplaySettings,
  { operands: [path = ''], stopOnSignal }: Call,
): Promise<number> {
  const file = await readRecordingFile(path)
  const { length } = file.steps
  const until = given ?? length
  if (until > length) {
    const expected = `a step from 0 to ${length}, the last one of ${path}`
    throw new UsageError(`--until takes ${expected}, got '${until}'`)
  }
  const { controlled, shown } = openConsole(file)
  const { double } = controlled
  const { handle } = check ? double.handler : shown
  const difference = await takeSteps(controlled, file, { until }, handle)
  if (difference) {
    const { step, what } = difference
    const recorded = file.steps[step - 1]
    const place = recorded ? ` (${describe(recorded)})` : ''
    const hint = `replay ${path} --until ${step - 1} opens the state before it`
    return fail(`${path}: step ${step}${place} came out otherwise: ${what}; ${hint}`)
  }
  if (check && until === 0)
    return fail(`${path}: nothing was compared: it has no step up to step 0`)
  const last = file.steps[until - 1]
  print(`${path}: ${count(until, 'step')}, all as recorded.\n`)
  if (check) {
    await double.close()
    return 0
  }
  const server = await listenOn(shown, { host: '127.0.0.1', port }, 'port')
  stopOnSignal(async () => {
    await double.close()
    await server.close()
  })
  const now = new Date(double.clock()).toISOString()
  const place = last ? `After step ${until}, ${describe(last)}` : 'Before the first step'
  print(`${place}, with the clock at ${now}.\n`)
  print(`Console  ${server.origin}/#token=${shown.token}\n`)
  return 0
}

/** Sends requests through the console, so that it lists them. */
function openConsole(file: RecordingFile) {
  const token = controlToken()
  const controlled = createDoubleFor(file, token)
  const { double, worlds } = controlled
  const isLimited = file.begin.options['rateLimiting'] !== false
  const keys = keysOf(file.begin.keys)
  const shown = withConsole(double.handler, {
    ...viewOf({ double, apiKeys: keys }, isLimited),
    control: true,
    token,
    // The keys are names, valid only here, and thus no secrets.
    isPublicKey: key => Object.hasOwn(keys, key),
    worlds: () => viewsOf(worlds.open, isLimited),
  })
  return { controlled, shown }
}

export function fail(line: string): number {
  note(line)
  return 1
}

export async function readRecordingFile(path: string): Promise<RecordingFile> {
  const bytes = await readBytes(path)
  try {
    return readRecording(bytes.toString(), path)
  } catch (error) {
    throw error instanceof RecordingError ? new UsageError(error.message) : error
  }
}
