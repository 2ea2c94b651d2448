import type { Fault, TestDouble } from '../../../adapters/test-double/index.js'

type StatusFault = Extract<Fault, { kind: 'status' }>

/** The tools of a hand-written client: a double, its clock, and ways to send to it. */
export interface Api {
  readonly double: TestDouble
  /** On a connection of its own, as curl does. */
  readonly send: Send
  /** All of the calls on one connection that is kept alive. */
  connection(): Send
  /** One call at a time, each on the next of several open connections. */
  pool(size: number): Send
  pass(seconds: number): void
  /** Sends `count` calls with `pause` seconds after each. */
  poll(
    send: Send,
    count: number,
    pause?: number,
    call?: Call | ((at: number) => Call),
  ): Promise<void>
  /** Sends `count` calls, and waits as long as Retry-After says after each 429 and 503. */
  wait(send: Send, count: number, call?: Call): Promise<void>
  /** Has the next requests fail with this status. */
  fail(status: number, fault?: Partial<StatusFault>): void
  /** Uses up the minute. */
  exhaust(send?: Send): Promise<void>
}

/** Lists pets unless told otherwise. A lost response has status 0. */
export type Send = (call?: Call) => Promise<Answer>

export interface Call {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  /** The header, in seconds. */
  readonly retryAfter: number
  readonly remaining: number
  readonly reset: number
  readonly code: string | undefined
}

export type Client = (api: Api) => Promise<unknown>

/** How a client reaches a server. */
export type Transport = Pick<Api, 'send' | 'connection'>

export function createApi(double: TestDouble, transport = inProcess(double)): Api {
  const { send, connection } = transport
  return {
    double,
    send,
    connection,
    pool(size) {
      const connections = Array.from({ length: size }, connection)
      let calls = 0
      return call => (connections[calls++ % size] as Send)(call)
    },
    pass: seconds => double.clock.advance(seconds * 1000),
    async poll(by, count, pause = 0, call) {
      for (const at of times(count)) {
        await by(typeof call === 'function' ? call(at) : call)
        if (pause > 0) double.clock.advance(pause * 1000)
      }
    },
    async wait(by, count, call) {
      for (const _ of times(count)) {
        const { status, retryAfter } = await by(call)
        if (status === 429 || status === 503) double.clock.advance(retryAfter * 1000)
      }
    },
    fail: (status, fault) => void double.faults.arm({ kind: 'status', status, ...fault }),
    async exhaust(by = send) {
      while ((await by()).remaining > 0);
    },
  }
}

function inProcess(double: TestDouble): Transport {
  return {
    async send(call) {
      const { path = 'pets', ...init } = initOf(call)
      const response = await double.fetch(path, init).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (!response || text === undefined) return LOST
      return answerOf(response.status, Object.fromEntries(response.headers), text)
    },
    connection() {
      const connection = double.connect()
      return async call => {
        const { path = 'pets', ...init } = initOf(call)
        const [pathname = '', query = ''] = path.split('?')
        const request = { ...init, path: `${double.basePath}/${pathname}`, query, connection }
        const { status, headers, body } = await double.handle(request)
        const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
        return answerOf(status, Object.fromEntries(lower), body)
      }
    },
  }
}

export const LOST: Answer = { status: 0, retryAfter: 0, remaining: 0, reset: 0, code: undefined }

export function initOf({ method, path, body, key = 'demo-free', headers }: Call = {}) {
  const content = body === undefined ? undefined : JSON.stringify(body)
  return {
    method: method ?? (content === undefined ? 'GET' : 'POST'),
    ...(path !== undefined && { path }),
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
  }
}

export function answerOf(status: number, headers: Record<string, string>, body: string): Answer {
  const number = (name: string) => Number(headers[name])
  return {
    status,
    retryAfter: number('retry-after'),
    remaining: number('x-ratelimit-remaining'),
    reset: number('x-ratelimit-reset'),
    code: status < 400 ? undefined : /"code":"(\w+)"/.exec(body)?.[1],
  }
}

export const ADA = { name: 'Ada', categoryId: 1 }

/** A create of another animal for each number. */
export const another = (at: number): Call => ({ body: { name: 'Ada', categoryId: at } })

export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at)
}

/** The same numbers for the same seed (Park and Miller). */
export function randomFrom(seed: number): () => number {
  let state = seed * 7_919
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Repeats a failing call after these pauses, in seconds. */
export async function retry({ pass }: Api, send: Send, pauses: readonly number[], call?: Call) {
  for (const pause of pauses) {
    const { status } = await send(call)
    if (status > 0 && status < 400) return
    pass(pause)
  }
  await send(call)
}
