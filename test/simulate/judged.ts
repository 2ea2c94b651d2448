import type { Finding, Judge, JudgeReport } from '../../adapters/verdict/judge/index.js'
import { isJson, petIdOf } from './model/requests.js'
import { type Sent, verdictOn } from './model/verdict.js'
import type { Watcher, WireRequest } from './network.js'
import { ensure } from './violation.js'

/** Notes what a client sends and gets. */
export function createLog(now: () => number) {
  const sent: Sent[] = []
  const open = new Map<WireRequest, Sent>()
  let isOneByOne = true
  const watcher: Watcher = {
    sent(request) {
      isOneByOne &&= open.size === 0
      const one: Sent = { n: sent.length + 1, request, at: now() }
      sent.push(one)
      open.set(request, one)
    },
    received(request, response, isWhole) {
      Object.assign(open.get(request) ?? {}, { response, isWhole, endedAt: now() })
      open.delete(request)
    },
    failed(request, isGivenUp = false) {
      const one = open.get(request)
      if (one && !isGivenUp) one.endedAt = now()
      open.delete(request)
    },
  }
  return { ...watcher, requests: sent, isOneByOne: () => isOneByOne }
}

export type Log = ReturnType<typeof createLog>

/** Whether the verdict is that of the rules. */
export function compareVerdicts(
  name: string,
  judging: Judge,
  report: JudgeReport,
  sent: readonly Sent[],
  pagination: boolean,
  note: (what: string) => void,
): void {
  const { findings, notes } = report
  ensureTold(name, judging, report)
  ensureCounted(name, report, sent)
  // The rules are about what the server answers.
  if (sent.some(({ response }) => response?.isForeign)) return
  for (const finding of [...findings, ...notes]) ensureShown(name, finding, sent)
  const expected = verdictOn(sent, pagination)
  const found = new Map<string, Set<number>>()
  const add = (rule: string, { requests }: Finding) =>
    found.set(rule, new Set([...(found.get(rule) ?? []), ...requests]))
  for (const finding of findings) add(finding.rule, finding)
  // How sure it is of a backoff is left open.
  for (const one of notes) add(one.rule === BACKOFF ? BACKOFF : `${one.rule} likely`, one)
  for (const rule of expected.keys()) note(rule.split(' ')[0] as string)
  const runs = expected.get(MAYBE) ?? NONE
  for (const rule of new Set([...expected.keys(), ...found.keys()])) {
    if (rule === MAYBE) continue
    const [possible, most] = rule === BACKOFF ? [runs, 20] : [NONE, MOST_SHOWN]
    const own = [...(found.get(rule) ?? NONE)]
    const sure = [...(expected.get(rule) ?? NONE)]
    const message = () => `${name}: ${rule} is found in ${own}, and broken in ${sure}`
    const isJust = own.every(n => sure.includes(n) || possible.has(n))
    ensure(isJust, 'verdict.just', message)
    const isSharp = own.length >= most || sure.every(n => own.includes(n))
    ensure(isSharp, 'verdict.sharp', message)
  }
}

const BACKOFF = 'backoff.constant'
/** Runs that may be found, or not. */
const MAYBE = `${BACKOFF} maybe`
const NONE: ReadonlySet<number> = new Set()
/** A finding names as many requests. */
const MOST_SHOWN = 100

/** How much was judged, and what comes of it. */
function ensureCounted(name: string, report: JudgeReport, sent: readonly Sent[]): void {
  const { ok, requests, unanswered, decided, findings } = report
  const isDecision = ({ request, response, isWhole }: Sent) => {
    const { status = 500, headers = {}, body = '' } = isWhole && response ? response : {}
    const id = petIdOf(request)
    const isCall = /^\/v1\/pets[/?]?/.test(request.target) && id !== ''
    const isFound = status !== 404 || (id !== undefined && 'x-ratelimit-limit' in headers)
    const isJsonType = headers['content-type'] === 'application/json'
    const isReadable = isJsonType && (request.method === 'HEAD' || isJson(body))
    const isAnswer = status < 300 || (status >= 400 && status < 500)
    return isCall && isAnswer && isFound && isReadable
  }
  const least = sent.filter(isDecision).length
  // Whoever does not read all of a body does not notice that it is cut.
  const cut = sent.filter(({ response, isWhole }) => response && !isWhole).length
  const right = {
    ok: findings.every(({ allowed }) => allowed),
    requests: sent.length,
    unanswered: sent.filter(({ response }) => !response).length,
    decided: Math.min(Math.max(least, decided), least + cut),
  }
  const [told, rules] = [{ ok, requests, unanswered, decided }, right].map(one =>
    JSON.stringify(one),
  )
  ensure(told === rules, 'verdict.just', () => `${name}: ${told} instead of ${rules}`)
}

/** A client that was not polite, or was not judged, fails with all of the report. */
function ensureTold(name: string, judging: Judge, report: JudgeReport): void {
  const { ok, requests, decided, unanswered, findings, notes } = report
  let told = ''
  try {
    judging.assertPolite()
  } catch (error) {
    told = (error as Error).message
  }
  const all = [...findings, ...notes]
  const texts = all.flatMap(({ rule, seen, fix, evidence, shown, requests }) => {
    const more = requests.length - shown.length
    return [
      ...[`  ${rule} `, `    seen: ${seen}\n`, `    fix: ${fix}\n`],
      ...evidence.map(text => `    evidence: ${text}\n`),
      ...shown.map(
        ({ n, method, url, iso, status }) =>
          `    request ${n}: ${method} ${url} at ${iso} -> ${status ?? 'no response'}`,
      ),
      ...(more > 0 ? [`    … and ${more} more request`] : []),
    ]
  })
  const shownIn = (text: string) => text.match(/^ {4}(request|…)/gm)?.length
  const isNoLonger = shownIn(told) === shownIn(texts.join('\n'))
  const counts = [findings.length, notes.length, requests].filter(count => count > 0).join(' ')
  const [first = ''] = told.split('\n')
  const isCounted = first.match(/\d+/g)?.join(' ') === counts || requests === 0 || decided === 0
  const isLost = unanswered > 0 && told !== ''
  const isWhole = !isLost || told.includes(`${unanswered} of ${requests} requests got no response`)
  const isSaid = isNoLonger && texts.every(text => told.includes(text))
  const isRight = told === '' || (isCounted && isWhole && isSaid)
  const isDue = (told === '') === (ok && decided > 0)
  const isUntested = /decided on no request|^No request was for/m.test(told)
  const message = () => `the report on ${name} should count ${counts}, and says: ${told}`
  ensure(isRight && isDue && isUntested === (decided === 0), 'verdict.just', message)
}

/** What a finding shows is what was sent and answered. */
function ensureShown(name: string, finding: Finding, sent: readonly Sent[]): void {
  const { at, iso, requests, shown, evidence, seen } = finding
  const isRight = shown.every(one => {
    const { n, method, url, status, retryAfter, tooEarlyAfter } = one
    const { request, response, at } = sent[n - 1] as Sent
    const isTooEarly =
      tooEarlyAfter === null || Number(sent[tooEarlyAfter - 1]?.response?.status) > 428
    const isSame = status === (response?.status ?? null)
    const isWait = retryAfter === (response?.headers['retry-after'] ?? null)
    const isRequest = request.method === method && request.target.startsWith(url.slice(0, 9))
    return isRequest && isSame && isWait && isTooEarly && one.iso === new Date(at).toISOString()
  })
  const isProved = evidence.every(text => {
    const [n, seconds, after, status, wait] = (text.match(/\d+(\.\d+)?/g) ?? []).map(Number)
    const [one, cause] = [sent[Number(n) - 1], sent[Number(after) - 1]]
    const gap = (Number(one?.at) - Number(cause?.endedAt)) / 1_000
    const { status: answered, headers = {} } = cause?.response ?? {}
    const isNear = Math.abs(gap - Number(seconds)) <= Math.max(0.05, gap / 20)
    return isNear && status === answered && wait === Number(headers['retry-after'])
  })
  const isFirst = new Date(at).toISOString() === iso && requests.some(n => sent[n - 1]?.at === at)
  const isWhole = shown.length === Math.min(4, requests.length) && /\d|, which is|was/.test(seen)
  const message = () => `${name}: ${JSON.stringify(finding)}`
  ensure(isRight && isFirst && isProved && isWhole, 'verdict.just', message)
}
