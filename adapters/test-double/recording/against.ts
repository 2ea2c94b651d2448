import { isAfter } from '../faults/fault.js'
import { differenceOfResponses, withoutTimes } from './difference.js'
import type { AnswerStep, RecordingFile, SendStep, Step } from './format.js'
import type { Difference } from './replay.js'

export interface AgainstOptions {
  /** Where the API is, such as `https://staging.example.org/v1`. */
  readonly baseUrl: string
  /** The key to send in place of a recorded one, by its name. */
  readonly keyOf: (name: string) => string
  /** The last step to replay. @default all */
  readonly until?: number | undefined
  readonly fetch?: typeof fetch | undefined
}

export interface AgainstResult {
  /** The first response that differs; undefined when there is none. */
  readonly difference: Difference | undefined
  /** How many requests were sent. */
  readonly sent: number
  /** How many of their responses were compared: not those that a fault had malformed or replaced. */
  readonly compared: number
  /** How many were left out, because a fault had kept them from running, or they are of a world. */
  readonly left: number
}

/**
 * Sends the recorded requests to a server, one after the other in the order in which they took effect,
 * and compares status, body, and the headers that describe it. It stops at the first difference.
 *
 * @throws TypeError when the server cannot be reached, Error when it takes too long
 */
export async function sendSteps(
  { begin, steps }: RecordingFile,
  { baseUrl, keyOf, until = steps.length, fetch = globalThis.fetch }: AgainstOptions,
): Promise<AgainstResult> {
  const base = basePathOf(begin.options)
  const taken = steps.slice(0, until)
  const answers = new Map(taken.filter(isAnswer).map(answer => [answer.id, answer]))
  let [sent, compared, left] = [0, 0, 0]
  for (const send of inOrderOfEffect(taken)) {
    const answer = answers.get(send.id)
    const request =
      answer && isSent(send, answer) ? requestOf(send, base, baseUrl, keyOf) : undefined
    if (!answer || !request) {
      left++
      continue
    }
    sent++
    const got = await inTime(stop => fetch(request, { signal: stop }).then(responseOf))
    if (!isWhole(answer)) continue
    compared++
    const what = differenceOfResponses(withoutTimes(answer), withoutTimes(got), isCompared)
    if (what === undefined) continue
    const { method, path } = send.request
    const difference = { step: send.step, what: `${method} ${path}: ${what}` }
    return { difference, sent, compared, left }
  }
  return { difference: undefined, sent, compared, left }
}

function isAnswer(step: Step): step is Step & AnswerStep {
  return step.do === 'answer'
}

/** A delayed request took effect when its delay was over. */
function inOrderOfEffect(steps: readonly Step[]): readonly (Step & SendStep)[] {
  const sends = steps.filter((step): step is Step & SendStep => step.do === 'send')
  const runs = new Map(steps.flatMap(step => (step.do === 'run' ? [[step.id, step.step]] : [])))
  const effect = ({ id, step }: Step & SendStep) => runs.get(id) ?? step
  return sends.toSorted((one, other) => effect(one) - effect(other))
}

/** A request that a fault kept from running is not sent: its effect would be one too many. */
function isSent(send: Step & SendStep, answer: AnswerStep): boolean {
  if (send.world !== undefined || send.late || answer.status === 0) return false
  return answer.fault !== 'status' || hasRun(send, answer)
}

/** Whether a `status` fault let it run. Older recordings only say so of a fault that was planned. */
function hasRun({ planned }: SendStep, { ran }: AnswerStep): boolean {
  return ran === true || isAfter(planned?.fault)
}

/** Whether the recorded response is what the operation returned. */
function isWhole({ fault }: AnswerStep): boolean {
  return fault !== 'malformed' && fault !== 'status'
}

const COMPARED = ['content-type', 'location', 'allow', 'www-authenticate', 'link']

function isCompared(header: string): boolean {
  return COMPARED.includes(header)
}

/** Headers that `fetch` writes itself. */
const OWN_HEADERS =
  /^(host|connection|content-length|transfer-encoding|keep-alive|expect|te|upgrade|accept-encoding|sec-.*)$/

/** Undefined for what `fetch` cannot send. */
function requestOf(
  { request }: SendStep,
  base: string,
  baseUrl: string,
  keyOf: (name: string) => string,
): Request | undefined {
  const { method, path, query, headers: given, body, base64, refusal } = request
  if (refusal || !path.startsWith(base)) return undefined
  const headers = Object.entries(given).filter(([name]) => !OWN_HEADERS.test(name))
  const url = `${baseUrl.replace(/\/$/, '')}${path.slice(base.length)}${query && `?${query}`}`
  const bytes =
    base64 === undefined ? body : Uint8Array.from(atob(base64), one => one.charCodeAt(0))
  try {
    return new Request(url, {
      method,
      headers: headers.map(([name, value]) => [name, withKey(name, value, keyOf)] as const) as [
        string,
        string,
      ][],
      ...(bytes !== undefined && { body: bytes }),
      redirect: 'manual',
    })
  } catch {
    return undefined
  }
}

const TIMEOUT_MS = 30_000

/**
 * With a timer that keeps the process alive, which `AbortSignal.timeout` does not: in Node 20, `fetch` may
 * never settle where the server closes the connection at once.
 */
async function inTime<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const end = () => reject(new Error(`no complete response within ${TIMEOUT_MS / 1000} s`))
    timer = setTimeout(end, TIMEOUT_MS)
  })
  try {
    return await Promise.race([work(stop.signal), late])
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
}

function withKey(name: string, value: string, keyOf: (name: string) => string): string {
  if (name !== 'authorization' || !value.startsWith('Bearer ')) return value
  return `Bearer ${keyOf(value.slice(7))}`
}

async function responseOf(response: Response) {
  const { status } = response
  return { status, headers: Object.fromEntries(response.headers), body: await response.text() }
}

function basePathOf({ baseUrl }: RecordingFile['begin']['options']): string {
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl)) return '/v1'
  return new URL(baseUrl).pathname.replace(/\/$/, '')
}
