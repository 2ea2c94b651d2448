import { constants } from 'node:os'
import type { OptionError } from '../../src/lib/options.js'
import { readFaults } from '../test-double/explore/options.js'
import { type Schedule, splitWords } from '../test-double/explore/schedule.js'
import { type Outcome, search } from '../test-double/explore/search.js'
import type { Fault } from '../test-double/faults/fault.js'
import { readSetup } from './exec.js'
import { createExploreOutput } from './explore-output.js'
import { type CommandContext, type CommandFailure, runCommand } from './explored-run.js'
import type { ExecSettings } from './options.js'
import { usageError } from './usage-error.js'

/**
 * Runs a command again and again, each time next to a private store and with other faults, until
 * every schedule that runs have shown to be possible has been tried.
 *
 * @param given the options as they were written, for a command that repeats a run
 * @returns the exit code: 1 when a run has failed, or when there was nothing to explore
 * @throws UsageError
 */
export async function explore(
  settings: ExecSettings,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): Promise<number> {
  const { depth, schedules = Number.POSITIVE_INFINITY, jobs } = settings
  const faults = faultsOf(settings)
  const setup = await readSetup(settings, words)
  const output = createExploreOutput(settings, words, given)
  const interruption = listenToSignals()
  const context = { settings, words, setup, signal: interruption.signal }
  try {
    const found = await search<CommandFailure>({
      faults,
      depth,
      schedules,
      jobs,
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

/** @throws UsageError */
function faultsOf({ faults }: ExecSettings): readonly Fault[] {
  try {
    return readFaults(splitWords(faults.join(',')))
  } catch (error) {
    throw usageError(error as OptionError, '--faults')
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
