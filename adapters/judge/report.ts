import { reportText } from '../verdict/report.js'
import type { JudgeReport } from './observer.js'

/** The report for people, with what could not be judged. */
export function judgeText(report: JudgeReport): string {
  const text = reportText(report, { withRequests: true })
  if (report.requests === 0) return text
  return `${text}${unansweredLine(report)}${report.decided === 0 ? UNDECIDED : ''}`
}

function unansweredLine({ unanswered, requests }: JudgeReport): string {
  if (unanswered === 0) return ''
  return `Verdict: ${unanswered} of ${requests} requests got no response, which is not held against the client.\n`
}

const UNDECIDED =
  'Verdict: the service decided on no request, so nothing was checked. Is the base URL that of the API, and is the service up?\n'
