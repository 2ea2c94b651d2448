import { readJudgeOptions } from '../../verdict/judge/judge-options.js'
import { createObserver } from '../../verdict/judge/observer.js'
import { openProxy } from '../../verdict/judge/proxy/proxy.js'
import { failureLine, judgeText, undecidedText } from '../../verdict/judge/report.js'
import type { RuleId } from '../../verdict/rules/index.js'
import type { Call } from '../commands.js'
import type { ExecSettings } from '../options.js'
import { printError } from '../print.js'
import { readAs } from '../usage-error.js'
import { runChild } from './child-process.js'
import { checkCommand, conclude, environmentFor, nothingArrived, whileOthersSend } from './exec.js'

/** Time limit for silence of the service, in ms. */
const TIMEOUT_MS = 60_000

/** @returns the exit code as `exec` does; also 1 if the certificate of the service was refused */
export async function main(
  settings: ExecSettings,
  { operands: words, given }: Call,
): Promise<number> {
  checkCommand(settings, words)
  const { through: baseUrl = '', clients, pagination, apiKey } = settings
  const allow = settings.allow as readonly RuleId[]
  const judged = readAs('--through', () =>
    readJudgeOptions({ baseUrl, clients, allow, pagination }),
  )
  const observer = createObserver(judged, apiKey === undefined ? [] : [apiKey])
  const proxy = await openProxy({ baseUrl, observer, timeoutMs: TIMEOUT_MS })
  const variables = {
    ...environmentFor(proxy.url),
    ...(apiKey !== undefined && { ADOPTION_STORE_API_KEY: apiKey }),
    // Commands for another store would only mislead.
    ADOPTION_STORE_CONTROL_URL: undefined,
  }
  const { code } = await runChild(words, variables)
    .then(async ended => {
      await whileOthersSend(settings, proxy.url)
      return ended
    })
    .finally(proxy.close)
  const report = observer.report()
  const none =
    report.requestCount === 0
      ? nothingArrived(words.join(' '))
      : undecidedText(report, observer.undecided())
  const untested = report.decided === 0 ? none : undefined
  printError(judgeText(report, untested, failureLine(judged.origin, proxy.failures)))
  const concluded = await conclude({ code, report, untested, late: 0 }, { settings, words, given })
  return concluded === 0 && proxy.failures.some(({ isUntrusted }) => isUntrusted) ? 1 : concluded
}
