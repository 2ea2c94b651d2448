import type { ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import type { Answered } from '../exchanges/entry.js'
import { codeOf } from '../exchanges/exchange.js'
import { createLog } from '../exchanges/log.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import type { ConsoleWorld } from './options.js'

/** An exchange as it was. */
export interface Kept extends Omit<Answered, 'keys'> {
  readonly request: ReadRequest
  /** The API keys that were valid then. */
  readonly apiKeys: ReturnType<ConsoleWorld['apiKeys']>
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
export interface Activity {
  /**
   * @param body the request's, as far as it was read
   * @param start when the request came, by `performance.now()`; null when nobody watches, because
   * reading the time costs more than all the rest
   * @returns the response
   */
  record(
    request: ApiRequest,
    body: ReadRequest['body'],
    response: ApiResponse,
    start: number | null,
  ): ApiResponse
  /** The `n` of the latest exchange; 0 before the first. */
  readonly last: number
  find(n: number): Kept | undefined
  /** Those after `n` that are still kept, oldest first. */
  since(n: number): readonly Kept[]
  /** The seconds from `at` on that had requests, oldest first. */
  traffic(at?: number): readonly Second[]
  /** Called after each exchange; undefined while nobody watches. */
  onRecord: (() => void) | undefined
}

const SECONDS = 300
/** At least the latest exchange can be opened, however large it is. */
const LIMITS = { capacity: 500, bytes: 8 * 1_048_576, least: 1 }
/**
 * V8 copies what is kept at each collection. Under load, recording takes 5 to 7 % of the CPU time of
 * a request with 500 exchanges kept, and 2 % with 20. A watching page gets no more than 20 at a time.
 */
const BURST = { requestsPerSecond: 1_000, kept: 20 }

export function createActivity({ clock, apiKeys }: ConsoleWorld): Activity {
  const log = createLog<Kept>(LIMITS)
  const seconds = Array.from({ length: SECONDS }, () => ({
    at: 0,
    requests: 0,
    counts: OUTCOMES.map(() => 0),
  }))

  const activity: Activity = {
    onRecord: undefined,
    record(given, body, response, start) {
      const ms = start === null ? null : performance.now() - start
      const at = clock()
      const request = withoutConnection(given, body)
      const exchange = { n: log.last() + 1, request, apiKeys: apiKeys(), response, at, ms }
      log.add(exchange, sizeOf(exchange))
      const thisSecond = count(response, clock === Date.now ? at : Date.now())
      if (thisSecond > BURST.requestsPerSecond) log.trim(BURST.kept)
      activity.onRecord?.()
      return response
    },
    get last() {
      return log.last()
    },
    find: log.find,
    since: log.since,
    traffic: (at = 0) =>
      seconds
        .filter(second => second.at >= Math.max(at, 1))
        .map(({ at, counts }) => ({ at, counts: [...counts] }))
        .sort((a, b) => a.at - b.at),
  }
  return activity

  /** @returns how many requests this second has had */
  function count(response: ApiResponse, now: number): number {
    const at = Math.floor(now / 1000)
    const second = seconds[at % SECONDS] as (typeof seconds)[number]
    if (second.at !== at) {
      second.at = at
      second.requests = 0
      second.counts.fill(0)
    }
    const outcome = outcomeOf(response)
    second.counts[outcome] = (second.counts[outcome] ?? 0) + 1
    return ++second.requests
  }
}

/** A door's `isGone` holds Node's messages in memory, and a request that is sent again has another caller. */
function withoutConnection(given: ApiRequest, body: ReadRequest['body']): ReadRequest {
  const { method, path, query, headers, mount, client, reported, refusal } = given
  return { method, path, query, headers, body, mount, client, reported, refusal }
}

function sizeOf({ request, response }: Kept): number {
  return (request.body?.length ?? 0) + response.body.length
}

function outcomeOf(response: ApiResponse): number {
  const { status, deliver } = response
  if (status >= 500 || deliver) return 4
  if (status === 429) return codeOf(response) === 'api_key_banned' ? 3 : 2
  return status >= 400 ? 1 : 0
}
