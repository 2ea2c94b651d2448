import { count } from '../../../src/lib/pluralize.js'
import { resultText } from '../report.js'
import type { JudgeReport } from './observer.js'
import type { UpstreamFailure } from './proxy/failure.js'

export function judgeText(
  report: JudgeReport,
  untested = report.decided === 0 ? undecidedText(report) : undefined,
  aside = unansweredLine(report),
): string {
  return resultText(report, untested, aside)
}

/** @param cause why the service decided on nothing */
export function undecidedText(
  { requestCount }: JudgeReport,
  cause = 'Is the base URL that of the API, and is the service up?',
): string {
  if (requestCount === 0)
    return 'Verdict: no request was for the base URL of the service, so nothing was checked.'
  return `Verdict: the service decided on no request, so nothing was checked. ${cause}`
}

function unansweredLine({ unanswered, requestCount }: JudgeReport): string {
  if (unanswered === 0) return ''
  return `Verdict: ${unanswered} of ${requestCount} requests got no response, which is not held against the client.\n`
}

export function failureLine(service: string, failures: readonly UpstreamFailure[]) {
  const [first] = failures
  if (!first) return undefined
  return `Verdict: ${count(failures.length, 'response')} of ${service} did not arrive in full, which is not held against the client: ${first.reason}.\n`
}
