import { constants } from 'node:os'
import type { OptionError } from '../../src/lib/options.js'
import { readFaults } from '../test-double/explore/options.js'
import { type Schedule, splitWords } from '../test-double/explore/schedule.js'
import { type Outcome, search } from '../test-double/explore/search.js'
import type { Fault } from '../test-double/faults/fault.js'
import { readDuration } from './duration.js'
import { readSetup } from './exec.js'
import { createExploreOutput } from './explore-output.js'
import { type CommandContext, type CommandFailure, runCommand } from './explored-run.js'
import { type Flags, usageError, wholeNumber } from './flags.js'

/** What `exec --explore` tries. */
interface ExploreSettings {
  readonly faults: readonly Fault[]
  readonly depth: number
  readonly schedules: number
  readonly jobs: number
  readonly timeoutMs: number
}

/**
 * Runs a command again and again, each time next to a private store and with other faults, until
 * every schedule that runs have shown to be possible has been tried.
 *
 * @returns the exit code: 1 when a run has failed, or when there was nothing to explore
 * @throws UsageError
 */
export async function explore(flags: Flags, words: readonly string[]): Promise<number> {
  const settings = readSettings(flags)
  const setup = await readSetup(flags, words)
  const output = createExploreOutput(flags, words, settings)
  const interruption = listenToSignals()
  const context = { flags, words, setup, signal: interruption.signal, ...settings }
  try {
    const found = await search<CommandFailure>({
      ...settings,
      run: async schedule => {
        const outcome = await reach(schedule, context)
        output.ran(schedule, outcome)
        return outcome
      },
      onProgress: output.progress,
    })
    return await output.end(found)
  } catch (error) {
    output.clear()
    if (interruption.code() === undefined) throw error
    return interruption.code() as number
  } finally {
    interruption.end()
  }
}

/** How often a run is repeated whose requests come in another order than before. */
const MOST_TRIES = 3

async function reach(
  schedule: Schedule,
  context: CommandContext,
): Promise<Outcome<CommandFailure>> {
  for (let tries = 1; ; tries++) {
    const outcome = await runCommand(schedule, context)
    if (outcome.isReached || outcome.failure || tries === MOST_TRIES) return outcome
  }
}

/** Those that take no time of their own: a command runs in real time. */
const FAULTS = 'reset,truncate,status:503,status:503-after,status:429'

const MOST = 1_000_000

/** @throws UsageError */
function readSettings(flags: Flags): ExploreSettings {
  const { faults = FAULTS, timeout = '60s' } = flags
  return {
    faults: fromOption('--faults', () => readFaults(splitWords(faults))),
    depth: wholeNumber(flags, 'depth', MOST, 1) ?? 1,
    schedules: wholeNumber(flags, 'schedules', MOST, 1) ?? Number.POSITIVE_INFINITY,
    jobs: wholeNumber(flags, 'jobs', MOST, 1) ?? 1,
    timeoutMs: fromOption('--timeout', () => readDuration('timeout', timeout)),
  }
}

/** @throws UsageError naming the flag */
function fromOption<T>(flag: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw usageError(error as OptionError, flag)
  }
}

const SIGNALS = (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).filter(
  name => name in constants.signals,
)

/** The first signal ends all runs. */
function listenToSignals() {
  const controller = new AbortController()
  let code: number | undefined
  const stop = (name: NodeJS.Signals) => {
    code ??= 128 + constants.signals[name]
    controller.abort()
  }
  for (const name of SIGNALS) process.on(name, stop)
  return {
    signal: controller.signal,
    code: () => code,
    end() {
      for (const name of SIGNALS) process.off(name, stop)
    },
  }
}
