import { settingsOf } from '../../../src/lib/check-options.js'
import { fieldsOf, splitTarget } from '../../http/target-and-body.js'
import { verdictError } from '../annotations.js'
import { ASSERT_OPTIONS, type AssertPoliteOptions } from '../assert-options.js'
import { captureStack } from '../call-site.js'
import { isOnGitHub } from '../github.js'
import { createConnections } from '../log/callers.js'
import { type JudgeOptions, type JudgeSettings, readJudgeOptions } from './judge-options.js'
import { createObserver, type JudgeReport, type Observer } from './observer.js'
import { judgeText } from './report.js'
import { readOutgoing } from './request-body.js'
import { observeBody } from './response-body.js'

export interface Judge {
  /** Sends through the option `fetch`, whose arguments and results it passes on. */
  readonly fetch: typeof globalThis.fetch
  report(): JudgeReport
  /**
   * Fails a test whose client was not polite.
   * @throws VerdictError when the report is not ok, or when the service decided on no request
   */
  assertPolite(options?: AssertPoliteOptions): void
}

/**
 * Judges a client of any server of this API by the rules of the test double.
 * @throws OptionError naming the invalid option and its value
 * @example
 * import { judge } from 'animal-adoption-store/judge'
 *
 * const baseUrl = 'http://127.0.0.1:4280/v1'
 * const { fetch, assertPolite } = judge({ baseUrl })
 * await fetch(`${baseUrl}/pets`, { headers: { authorization: 'Bearer demo-free' } })
 * assertPolite()
 */
export function judge(options: JudgeOptions): Judge {
  const settings = readJudgeOptions(options)
  const observer = createObserver(settings)

  return {
    fetch: watch(settings, observer),
    report: observer.report,
    assertPolite(options) {
      const { notes } = settingsOf(ASSERT_OPTIONS, options)
      const report = observer.report()
      const isClean = !notes || report.notes.every(({ allowed }) => allowed)
      if (!report.ok || !isClean || report.decided === 0) {
        throw verdictError(report, judgeText(report))
      }
    },
  }
}

function watch(
  // Read now: the result may replace the global `fetch`.
  { origin, fetch = globalThis.fetch }: JudgeSettings,
  observer: Observer,
): typeof globalThis.fetch {
  const connect = createConnections()

  return async (input, init) => {
    const outgoing = readOutgoing(input, init)
    // `fetch` refuses these without sending them.
    if (!outgoing || outgoing.url.origin !== origin || outgoing.signal?.aborted) {
      return fetch(input, init)
    }
    const { url, method, headers, signal } = outgoing
    // The connections of `fetch` are unknown.
    const connection = connect()
    const target = splitTarget(url.pathname + url.search)
    const stack = isOnGitHub() ? captureStack() : undefined
    const observed = observer.begin({ method, ...target, headers, connection, stack })
    if (!observed) return fetch(input, init)
    try {
      const response = await fetch(...(await outgoing.observe(observed.sent)))
      observed.answered(response.status, fieldsOf(response.headers))
      return observeBody(response, observed, { method, signal })
    } catch (error) {
      observed.lost(signal?.aborted ? 'hang' : 'reset')
      throw error
    } finally {
      connection.end()
    }
  }
}
