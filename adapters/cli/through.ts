import { OptionError } from '../../src/lib/options.js'
import { createObserver } from '../judge/observer.js'
import { readJudgeOptions } from '../judge/options.js'
import { openProxy } from '../judge/proxy/proxy.js'
import { judgeText, undecidedText } from '../judge/report.js'
import type { RuleId } from '../verdict/rules/index.js'
import { runChild } from './child.js'
import { usageError } from './errors.js'
import { checkCommand, isProven, reports, tellVerdict } from './exec.js'
import { writeOutputs } from './files.js'
import type { ExecSettings } from './options.js'
import { repeatText } from './repeat.js'

/** How long the service may be silent, in ms. */
const TIMEOUT_MS = 60_000

/**
 * Runs a command against a server elsewhere, with a proxy on loopback in between, and prints the
 * verdict on everything it sent.
 *
 * @returns the exit code: the command's own, or 1 when `--strict` fails
 * @throws UsageError
 */
export async function execThrough(
  settings: ExecSettings,
  baseUrl: string,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): Promise<number> {
  checkCommand(settings, words)
  const judged = judgeSettings(settings, baseUrl)
  const observer = createObserver(judged, settings.key === undefined ? [] : [settings.key])
  const proxy = await openProxy({ baseUrl, observer, timeoutMs: TIMEOUT_MS })
  const { code = 1 } = await runChild(words, environmentOf(proxy.url, settings.key)).finally(
    proxy.close,
  )
  const report = observer.report()
  const result = { report, untested: report.decided === 0 ? undecidedText(report) : undefined }
  process.stderr.write(judgeText(report, { service: judged.origin, ...proxy.failures() }))
  const exitCode = code === 0 && !isProven(result, settings) ? 1 : code
  const told = { command: words, exitCode, repeat: repeatText(words, given) }
  await tellVerdict(result, told)
  await writeOutputs(reports(settings, result, told, []))
  return exitCode
}

function judgeSettings({ clients, allow, pagination }: ExecSettings, baseUrl: string) {
  try {
    return readJudgeOptions({ baseUrl, clients, allow: allow as readonly RuleId[], pagination })
  } catch (error) {
    if (error instanceof OptionError) throw usageError(error, '--through')
    throw error
  }
}

/** A key of another store, and commands to it, would only mislead. */
function environmentOf(url: string, apiKey: string | undefined): NodeJS.ProcessEnv {
  const { ADOPTION_STORE_CONTROL_URL: _, ...inherited } = process.env
  return {
    ...inherited,
    ADOPTION_STORE_BASE_URL: url,
    ...(apiKey !== undefined && { ADOPTION_STORE_API_KEY: apiKey }),
  }
}
