import type { Operation } from '../../../src/pets/specification.js'
import { createRouter } from '../../../src/protocol/router.js'
import type { ReadRequest } from '../log/read-request.js'
import { createRecorder } from '../log/recorder.js'
import type { Keys } from '../log/redact.js'
import type { Report } from '../report.js'
import { createVerdict } from '../verdict.js'
import { createCredentials } from './credentials.js'
import type { JudgeSettings } from './judge-options.js'
import { localHeaders } from './local-headers.js'

/** Follows the requests of one client to one service over any transport. */
export type Observer = ReturnType<typeof createObserver>

/** Findings about a client, from its requests and the responses. */
export interface JudgeReport extends Report {
  readonly unanswered: number
  /**
   * Number of calls of `/pets` that the API decided on: with JSON and a status below 500, except
   * redirects and, other than for getPet, 404.
   */
  readonly decided: number
}

export type Observed = NonNullable<ReturnType<Observer['begin']>>

/** The loss of a response: no connection, silence, half a body, or no JSON. */
export type Loss = 'reset' | 'hang' | 'truncate' | 'malformed'

type Headers = Readonly<Record<string, string>>

const API_PATH = /^\/pets(\/|$)/

/** Maximum number of exchanges that wait to be judged, and of their characters. */
const MOST_WAITING = 1_000
const MOST_CHARACTERS = 8_388_608

export function createObserver(settings: JudgeSettings, keys: Keys = []) {
  const { basePath, origin, clock, clients, allow, pagination } = settings
  const route = createRouter(basePath)
  const credentials = createCredentials()
  const recorder = createRecorder({
    capacity: MOST_WAITING,
    characters: MOST_CHARACTERS,
    clock,
    keys: () => keys,
    pagination,
    origin,
    onOverflow: () => recording.catchUp(),
  })
  const verdict = createVerdict(allow, undefined, clients)
  const recording = verdict.record(null, { now: clock, isFromOutside: true, take })
  let unanswered = 0
  let decided = 0
  let undecided: string | undefined

  return {
    begin(request: ReadRequest) {
      const found = route(request.method, request.path)
      if (!found) return undefined
      const { operation } = found
      const isCall =
        request.method !== 'OPTIONS' && API_PATH.test(request.path.slice(basePath.length))
      const exchange = recorder.begin(request, { operation, keyId: credentials.nameOf(request) })
      const response = { status: 0, headers: {} as Headers, body: '' }
      let isOver = false
      let isDecided = false
      return {
        sent: exchange.receive,
        /** The response has begun; its headers have names in lower case. */
        answered(status: number, headers: Headers): void {
          if (isOver) return
          isOver = true
          Object.assign(response, { status, headers })
          isDecided = isCall && isDecision(status, headers, operation)
          if (isDecided) decided++
          else undecided = causeOf(status, headers)
          exchange.end(response)
        },
        /** The body of an error response (from 400), or undefined when it is too long to judge. */
        read(body = ''): void {
          response.body = body
        },
        /** The response never came, was incomplete, or is no JSON. Final, and harmless after the end. */
        lost(by: Loss): void {
          // The status and headers suffice to recognize an error, whatever its body.
          if (by !== 'malformed' || response.status < 400) exchange.note(by)
          // Half a body, or no JSON, decides nothing.
          if (isDecided) decided--
          isDecided = false
          if (isOver) return
          isOver = true
          unanswered++
          exchange.end(response)
        },
      }
    },
    report: (): JudgeReport => ({ ...verdict.report(), unanswered, decided }),
    /** A sentence on the last answer that was no decision, with its usual cause. */
    undecided: () => undecided,
  }

  function take() {
    const { arrived, ended } = recorder.take()
    const judged = ended.map(outline => ({
      ...outline,
      status: outline.status === 0 ? null : outline.status,
      keyId: credentials.judged(outline),
      headers: localHeaders(outline.headers, outline.answeredAt),
    }))
    return { arrived, ended: judged }
  }
}

function causeOf(status: number, headers: Headers): string {
  if (/^basic/i.test(headers['www-authenticate'] ?? '')) {
    return `It answered ${status} and asks for Basic authentication, as a proxy in front does.`
  }
  if (status === 404) return 'It answered 404: should the base URL end with /v1?'
  return `It answered ${status}: is the base URL that of the API?`
}

function isDecision(status: number, headers: Headers, operation?: Operation): boolean {
  if (status >= 500 || status === 0) return false
  // No other operation has one (spec §4), and another site has no limits (spec §8).
  if (status === 404) return operation === 'getPet' && 'x-ratelimit-limit' in headers
  return (status < 300 || status >= 400) && isJson(headers)
}

/** RFC 6839: `application/problem+json` is JSON too. */
export function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')
}
