import type { JournalEntry } from '../exchanges/recorder.js'
import { listen } from '../http/listen.js'
import { lastRequest } from '../test-double/explore/reason.js'
import { type Schedule, scheduleText } from '../test-double/explore/schedule.js'
import type { Outcome } from '../test-double/explore/search.js'
import { watchRequests } from '../test-double/explore/watch.js'
import type { Report } from '../verdict/report.js'
import { type CapturedRun, runCaptured } from './child.js'
import { openControlled } from './controlled.js'
import { isProven, type Setup, variablesFor, watchApi } from './exec.js'
import type { ExecSettings } from './options.js'

/** A run of the command that has failed. */
export interface CommandFailure {
  readonly schedule: string
  readonly reason: string
  /** Undefined where it took too long. */
  readonly exitCode: number | undefined
  /** The end of what it has printed. */
  readonly output: string
  readonly report: Report
  readonly requests: readonly JournalEntry[]
}

export interface CommandContext {
  readonly settings: ExecSettings
  readonly words: readonly string[]
  readonly setup: Setup
  /** Ends the run. */
  readonly signal: AbortSignal
}

/** Runs the command, next to a store and a server of its own. */
export async function runCommand(
  schedule: Schedule,
  context: CommandContext,
): Promise<Outcome<CommandFailure>> {
  const { settings, words, setup, signal } = context
  const { timeout } = settings
  const seen = watchRequests(schedule, Number.POSITIVE_INFINITY)
  const { handler, double } = await openControlled(
    settings,
    setup.apiKeys,
    setup.initial,
    seen.watch,
  )
  const api = watchApi(handler)
  const server = await listen(api.handler, { port: 0 })
  try {
    const run = await runCaptured(words, variablesFor(server, setup.apiKey), timeout, signal)
    const report = double.report({ since: 'start' })
    const reason =
      run.code === undefined
        ? `the command took longer than ${timeout / 1_000} s, ${lastRequest(seen.requests)}`
        : reasonOf(run, report, api.wasCalled(), settings)
    const failure = reason && {
      schedule: scheduleText(schedule),
      reason,
      exitCode: run.code,
      output: run.output,
      report,
      requests: double.requests(),
    }
    return {
      requests: seen.requests,
      isReached: seen.isReached(),
      failure: failure || undefined,
    }
  } finally {
    await double.close()
    await server.close()
  }
}

function reasonOf(
  { code }: CapturedRun,
  report: Report,
  wasCalled: boolean,
  settings: ExecSettings,
): string | undefined {
  if (code !== 0) return `the command exited with ${code}`
  if (settings.strict === undefined || isProven(report, settings, wasCalled)) return undefined
  const found = [...report.findings, ...report.notes].filter(({ allowed }) => !allowed)
  return `the verdict: ${found.map(({ rule }) => rule).join(', ') || 'no request for this API'}`
}
