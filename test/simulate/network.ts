import { choicesOf } from './random.js'
import type { Delay, Scheduler } from './scheduler.js'

export interface WireRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** The body ends in the middle, and the connection with it. */
  readonly isCut: boolean
  /** The client that sends it, and its address. */
  readonly from: string
  readonly address: string
}

export interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** A proxy has answered, in place of the server. */
  readonly isForeign?: boolean
}

/** Sees what one client does. */
export interface Watcher {
  /** Before it is sent. */
  sent(request: WireRequest): void
  /** The client has the response, or only its head and half of the body; then `failed` follows. */
  received(request: WireRequest, response: WireResponse, isWhole: boolean): void
  /** There is no response: the client has learnt that, or gives up. */
  failed(request: WireRequest, isGivenUp?: boolean): void
}

/** Undefined while nobody listens; rejects or stays pending when the process dies. */
export type Server = (request: WireRequest) => Promise<WireResponse> | undefined

export type Weather = Readonly<typeof QUIET>

export const QUIET = {
  delay: { least: 0.1, most: 5 } satisfies Delay,
  /** The request never arrives. */
  requestLost: 0,
  /** It arrives once more, perhaps much later. */
  repeated: 0,
  /** Half of its body arrives. */
  requestCut: 0,
  /** The response never arrives. */
  responseLost: 0,
  /** Half of its body arrives. */
  responseCut: 0,
  /** A proxy answers in its place. */
  foreign: 0,
}
const HTML = { 'content-type': 'text/html' }
const JSON_TYPE = { 'content-type': 'application/json' }
const UNREADABLE_LIMITS = {
  'x-ratelimit-limit': '-',
  'x-ratelimit-remaining': '',
  'x-ratelimit-reset': '1e9',
}

/** Answers of proxies. @param now by their clock */
function foreignResponses(now: number): readonly WireResponse[] {
  const date = (ms: number) => new Date(now + ms).toUTCString()
  return [
    { status: 502, headers: HTML, body: '<h1>Bad Gateway</h1>' },
    { status: 503, headers: { 'retry-after': '2' }, body: '' },
    { status: 503, headers: { 'retry-after': date(5_000), date: date(0) }, body: '<br>' },
    { status: 504, headers: JSON_TYPE, body: '{"message":"late"}' },
    { status: 429, headers: { ...JSON_TYPE, 'retry-after': '3' }, body: '{"error":"slow down"}' },
    { status: 429, headers: { ...UNREADABLE_LIMITS, 'retry-after': 'soon' }, body: '' },
    { status: 500, headers: JSON_TYPE, body: '{"code":"not_found","message":7,"status":404}' },
    { status: 404, headers: HTML, body: '<h1>Not Found</h1>' },
    { status: 200, headers: HTML, body: '<h1>Please log in</h1>' },
    { status: 200, headers: JSON_TYPE, body: '{"id":1}' },
    { status: 200, headers: JSON_TYPE, body: '[{"id":1,' },
    { status: 302, headers: { ...JSON_TYPE, location: 'http://login.test/' }, body: '{}' },
  ]
}

const REPEATED: Delay = { least: 0.1, most: 8_000 }
/** Time until a client notices that a connection is gone. */
const NOTICED: Delay = { least: 1, most: 500 }

export type Network = ReturnType<typeof createNetwork>

export function createNetwork(
  seed: string,
  weather: Weather,
  scheduler: Scheduler,
  server: Server,
) {
  let current = weather
  let cutEnd = 0
  const requests = new Map<string, number>()

  return {
    /** A `fetch` for one client. */
    fetchFor:
      (client: ClientAt, watcher: Watcher): typeof fetch =>
      (input, init) => {
        const request = readRequest(client, input, init)
        const signal = init?.signal
        if (signal?.aborted) return Promise.reject(signal.reason)
        return new Promise((resolve, reject) => {
          let isOver = false
          const end = (how: () => void) => {
            if (isOver) return
            isOver = true
            how()
          }
          const fail = (reason: unknown, isGivenUp = false) => {
            watcher.failed(request, isGivenUp)
            reject(reason)
          }
          const lose = () => {
            watcher.failed(request)
            return fetchError('terminated', 'UND_ERR_SOCKET')
          }
          watcher.sent(request)
          signal?.addEventListener('abort', () => end(() => fail(signal.reason, true)))
          exchange(request, {
            answer: (response, isWhole) =>
              end(() => {
                watcher.received(request, response, isWhole)
                const { body, ...head } = response
                resolve(new Response(isWhole ? body || null : halfOf(body, lose), head))
              }),
            fail: code => end(() => fail(fetchError('fetch failed', code))),
          })
        })
      },
    /** Nothing is lost from now on. */
    heal(): void {
      current = { ...QUIET, delay: weather.delay }
      cutEnd = 0
    },
    /** Nothing at all arrives until then, in ms since the epoch. */
    cutUntil(end: number): void {
      cutEnd = end
    },
  }

  function exchange(request: WireRequest, client: ClientEnd): void {
    const { from } = request
    const number = (requests.get(from) ?? 0) + 1
    requests.set(from, number)
    const choices = choicesOf(seed, 'request', from, number)
    const isLost = choices.chance(current.requestLost)
    const isRepeated = choices.chance(current.repeated)
    const isCut = request.body !== undefined && choices.chance(current.requestCut)
    const isResponseLost = choices.chance(current.responseLost)
    const isResponseCut = choices.chance(current.responseCut)
    const hangs = choices.chance(0.3)
    const isForeign = choices.chance(current.foreign)
    const foreign = () => ({ ...choices.pick(foreignResponses(scheduler.now())), isForeign })

    // Lost without a trace, until the client's own time limit, or noticed soon.
    const lose = () => {
      if (!hangs) scheduler.later(`reset to ${from}`, NOTICED, () => client.fail('ECONNRESET'))
    }
    const repeat = () => void server(request)?.catch(() => {})
    if (isRepeated) scheduler.later(`repeat of ${from}`, REPEATED, repeat)
    if (isLost) return void lose()
    scheduler.later(`request of ${from}`, current.delay, () => {
      if (scheduler.now() < cutEnd) return lose()
      const answering = server(isCut ? { ...request, isCut } : request)
      if (!answering) return client.fail('ECONNREFUSED')
      void answering.then(response => {
        if (isCut || isResponseLost || scheduler.now() < cutEnd) return lose()
        scheduler.later(`response to ${from}`, current.delay, () => {
          if (scheduler.now() < cutEnd) return lose()
          const isWhole = !isResponseCut || response.body === ''
          client.answer(isForeign ? foreign() : response, isWhole)
        })
      }, lose)
    })
  }
}

type ClientAt = Pick<WireRequest, 'address'> & { readonly name: string }

interface ClientEnd {
  readonly answer: (response: WireResponse, isWhole: boolean) => void
  readonly fail: (code: string) => void
}

function readRequest(
  { name: from, address }: ClientAt,
  input: unknown,
  init: RequestInit | undefined,
): WireRequest {
  const url = String(input)
  const target = url.slice(url.indexOf('/', url.indexOf('//') + 2))
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries((init?.headers ?? {}) as Record<string, string>)) {
    headers[name.toLowerCase()] = value
  }
  const body = init?.body as string | undefined
  return { method: init?.method ?? 'GET', target, headers, body, isCut: false, from, address }
}

/** Half of a body, after which the connection is lost. */
export function halfOf(body: string, lose: () => TypeError): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(body)
  return new ReadableStream({
    start: controller => controller.enqueue(bytes.subarray(0, bytes.length >> 1)),
    pull: controller => controller.error(lose()),
  })
}

/** As `fetch` of Node rejects. */
function fetchError(message: string, code: string): TypeError {
  return new TypeError(message, { cause: Object.assign(new Error(code), { code }) })
}
