import { type ClientOptions, createClient } from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type Limits, type StoreOptions } from '../../src/index.js'
import { createVirtualTime } from './virtual-time.js'

/** Midnight, so that the windows of a minute and of a day begin. */
export const T0 = Date.UTC(2030, 0, 1)

/** Replaces the server's answer to one request; `undefined` keeps it. */
export type Fault = (serve: () => Promise<Response>, request: Request) => Promise<Response>

/** @param skewAt what the server's clock is ahead of the client's, by its time since T0, in ms */
export function createClientServer(
  limits?: Limits,
  skewAt = (_: number) => 0,
  options: Partial<StoreOptions> = {},
) {
  const time = createVirtualTime(T0)
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: {
      key: limits ? { id: 'key', plan: 'enterprise', limits } : { id: 'key', plan: 'free' },
    },
    clock: () => time.clock() + skewAt(time.clock() - T0),
    ...options,
  })
  const serve = toFetchHandler(store)
  const faults: (Fault | undefined)[] = []
  const seen: string[] = []

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const fault = faults.shift()
    const at = seen.push(`${request.method} - +${time.clock() - T0}`) - 1
    const answer = () => time.hold(() => serve(request))
    const response = fault ? await fault(answer, request) : await answer()
    seen[at] = `${request.method} ${response.status} +${time.clock() - T0}`
    return response
  }

  return {
    store,
    time,
    fetch,
    /** For the next requests, one each. */
    faults,
    /** `GET 200 +0`, with the ms since T0; a request without an answer has `-`. */
    seen,
    /** A client with a key of its own policy, on the same virtual time. */
    client: (options?: Partial<ClientOptions>) =>
      createClient({
        baseUrl: 'http://store.test/v1',
        apiKey: 'key',
        fetch,
        clock: time.clock,
        sleep: time.sleep,
        random: () => 0.5,
        ...options,
      }),
  }
}

/** An Error answer of the server's own, or what stands in front of it. */
export function answering(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Fault {
  return async () => new Response(body, { status, headers })
}

/** The operation takes place, and its answer is lost. */
export const reset: Fault = async serve => {
  await serve()
  throw new TypeError('fetch failed')
}

/** There is never an answer, and whoever asked has to stop waiting by itself. */
export const hang: Fault = () => new Promise(() => {})

export function perMinute(seen: readonly string[]): number[] {
  const counts: number[] = []
  for (const line of seen) {
    const minute = Math.floor(Number(line.split('+')[1]) / 60_000)
    counts[minute] = (counts[minute] ?? 0) + 1
  }
  return counts
}

/** The headers of a window that ends so many seconds after T0. */
export function windowHeaders(seconds: number, remaining: number): Record<string, string> {
  return {
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': `${remaining}`,
    'x-ratelimit-reset': `${T0 / 1000 + seconds}`,
  }
}
