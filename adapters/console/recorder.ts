import type { Clock } from '../../src/ports.js'
import type { ApiResponse } from '../../src/protocol/api.js'
import type { ReadRequest } from '../shared/read-request.js'
import type { Exchange } from './entry.js'

export interface Recorded extends Exchange {
  readonly request: ReadRequest
  /** 1, 2, 3 … in the order of the answers. */
  readonly n: number
}

/** Requests in one second of real time, by outcome. */
export interface Second {
  /** Unix seconds. */
  readonly at: number
  readonly counts: readonly number[]
}

/** The order of `Second.counts`. */
export const OUTCOMES = ['ok', 'refused', 'limited', 'banned', 'failed'] as const

/** The latest exchanges with an API, and how many there were in each of the last seconds. */
export interface Recorder {
  /**
   * @param start when the request came, by `performance.now()`; null when nobody watches, because
   * reading the time costs more than all the rest
   * @returns the response
   */
  record(request: ReadRequest, response: ApiResponse, start: number | null): ApiResponse
  /** The `n` of the latest exchange; 0 before the first. */
  readonly last: number
  find(n: number): Recorded | undefined
  /** Those after `n` that are still kept, oldest first. */
  since(n: number): readonly Recorded[]
  /** The seconds from `at` on that had requests, oldest first. */
  traffic(at?: number): readonly Second[]
  /** Called after each exchange; undefined while nobody watches. */
  onRecord: (() => void) | undefined
}

const CAPACITY = 500
const MAX_BYTES = 8 * 1_048_576
const SECONDS = 300

export function createRecorder(clock: Clock): Recorder {
  const ring = new Array<Recorded | undefined>(CAPACITY)
  const seconds = Array.from({ length: SECONDS }, () => ({ at: 0, counts: OUTCOMES.map(() => 0) }))
  let last = 0
  let oldest = 1
  let bytes = 0

  const recorder: Recorder = {
    onRecord: undefined,
    record(request, response, start) {
      const ms = start === null ? null : performance.now() - start
      if (last - oldest === CAPACITY - 1) forgetOldest()
      const at = clock()
      const exchange = { n: ++last, request, response, at, ms }
      ring[last % CAPACITY] = exchange
      bytes += sizeOf(exchange)
      while (bytes > MAX_BYTES && oldest < last) forgetOldest()
      count(response, clock === Date.now ? at : Date.now())
      recorder.onRecord?.()
      return response
    },
    get last() {
      return last
    },
    find(n) {
      const found = ring[n % CAPACITY]
      return found?.n === n ? found : undefined
    },
    since(n) {
      const found: Recorded[] = []
      for (let next = Math.max(n + 1, oldest); next <= last; next++) {
        found.push(ring[next % CAPACITY] as Recorded)
      }
      return found
    },
    traffic: (at = 0) =>
      seconds
        .filter(second => second.at >= Math.max(at, 1))
        .map(({ at, counts }) => ({ at, counts: [...counts] }))
        .sort((a, b) => a.at - b.at),
  }
  return recorder

  function forgetOldest(): void {
    const at = oldest++ % CAPACITY
    bytes -= sizeOf(ring[at] as Recorded)
    ring[at] = undefined
  }

  function count(response: ApiResponse, now: number): void {
    const at = Math.floor(now / 1000)
    const second = seconds[at % SECONDS] as (typeof seconds)[number]
    if (second.at !== at) {
      second.at = at
      second.counts.fill(0)
    }
    const outcome = outcomeOf(response)
    second.counts[outcome] = (second.counts[outcome] ?? 0) + 1
  }
}

function sizeOf({ request, response }: Recorded): number {
  return (request.body?.length ?? 0) + response.body.length
}

function outcomeOf({ status, body, deliver }: ApiResponse): number {
  if (status >= 500 || deliver) return 4
  if (status === 429) return body.startsWith('{"code":"api_key_banned"') ? 3 : 2
  return status >= 400 ? 1 : 0
}
