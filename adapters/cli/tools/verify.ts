import { OptionError } from '../../../src/lib/check-options.js'
import type { WaitReason } from '../../client/hooks.js'
import type { VerifyOptions } from '../../verify/index.js'
import { reportJUnit } from '../../verify/junit.js'
import { resultText, summaryText } from '../../verify/report-text.js'
import { prepare, selectChecks, sumOfRequests, verify } from '../../verify/verify.js'
import { VerifyError } from '../../verify/verify-error.js'
import type { Call } from '../commands.js'
import { flagOf, type VerifySettings } from '../options.js'
import { createProgress, print, printError } from '../print.js'
import { writeOutputs } from '../read-and-write-files.js'
import { UsageError, usageError } from '../usage-error.js'

/** @returns the exit code: 1 if a MUST is broken */
export async function main(settings: VerifySettings, { operands }: Call): Promise<number> {
  try {
    if (settings.list) {
      print(listText(settings))
      return 0
    }
    return await verifyServer(settings, operands[0])
  } catch (error) {
    if (error instanceof VerifyError) throw new UsageError(error.message)
    if (error instanceof OptionError)
      throw usageError(error, NAMES[error.option] ?? flagOf(error.option))
    throw error
  }
}

async function verifyServer(
  settings: VerifySettings,
  baseUrl: string | undefined,
): Promise<number> {
  const { exhaust, idempotency, readOnly, only, skip, bail, openapi: openApiUrl, json } = settings
  if (baseUrl === undefined) {
    throw new UsageError('Expected verify <base-url> --api-key <key> [options]; see verify --help')
  }
  const { apiKey, spareApiKey } = settings
  if (apiKey === undefined) {
    throw new UsageError(
      'verify needs an API key: add --api-key <key>, or set ADOPTION_STORE_API_KEY',
    )
  }
  const rules = { exhaust, idempotency, readOnly, only, skip, bail, openApiUrl }
  const options: VerifyOptions = { baseUrl, apiKey, spareApiKey, ...rules }
  // Check the options before printing any: an address may hold a password.
  const { checks } = prepare(options)
  const progress = createProgress()
  const started = Date.now()
  if (!json && !progress.isShown) {
    // One more request finds out if the server can be verified.
    const most = sumOfRequests(checks) + 1
    print(`Verifying ${baseUrl}. Checks: ${checks.length}, requests: at most ${most}\n`)
  }
  const report = await verify({
    ...options,
    ...callbacksOf(progress, checks.length, json),
  }).finally(progress.end)
  print(json ? `${JSON.stringify(report)}\n` : summaryText(report, Date.now() - started))
  await writeOutputs([{ flag: '--junit', path: settings.junit, text: () => reportJUnit(report) }])
  return report.ok ? 0 : 1
}

const WAITS: Readonly<Record<WaitReason, string>> = {
  banned: 'until the ban ends',
  limit: 'for the next window',
  others: 'for others on the key',
  rejected: 'as a 429 demands',
  retry: 'before the next attempt',
}

/** Shows a bar on a terminal, otherwise a line per wait. */
function callbacksOf(progress: ReturnType<typeof createProgress>, total: number, json: boolean) {
  let done = 0
  return {
    onResult({ result, checksDone }) {
      progress.end()
      done = checksDone
      if (!json && result.outcome === 'failed') print(resultText(result))
      progress.show(done, total)
    },
    onWait({ waitMs, reason }) {
      const wait = `waiting ${Math.ceil(waitMs / 1000)} s ${WAITS[reason]}`
      if (progress.isShown) progress.show(done, total, wait)
      else printError(`W${wait.slice(1)}\n`)
    },
  } satisfies Pick<VerifyOptions, 'onResult' | 'onWait'>
}

function listText({ only, skip, json }: VerifySettings): string {
  const checks = selectChecks({ only, skip })
  const listed = checks.map(({ id, requirement, title }) => ({ id, ...requirement, title }))
  if (json) return `${JSON.stringify(listed)}\n`
  const width = Math.max(...listed.map(({ id }) => id.length))
  return listed
    .map(({ id, level, source, title }) => `${id.padEnd(width)}  ${level}, ${source}: ${title}\n`)
    .join('')
}

/** Flags of options whose name differs on the command line. */
const NAMES: Readonly<Record<string, string>> = { baseUrl: '<base-url>', openApiUrl: '--openapi' }
