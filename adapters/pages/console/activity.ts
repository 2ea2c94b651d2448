import type { ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { createLog } from '../../verdict/log/bounded-log.js'
import { createNumbers } from '../../verdict/log/callers.js'
import { errorOf } from '../../verdict/log/exchange.js'
import type { Answered } from '../../verdict/log/log-entry.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import type { Keys } from '../../verdict/log/redact.js'
import type { ConsoleWorld } from './console-options.js'
import { OUTCOMES, outcomeOf } from './outcome.js'

export interface Kept extends Answered {
  readonly request: ReadRequest
  /** 1, 2, 3 … in order of the responses. */
  readonly n: number
  /** Time of the response, in Unix seconds of real time. */
  readonly second: number
  /** Number of the connection; null if the adapter does not report it. */
  readonly connection: number | null
}

export interface Second {
  /** Unix seconds. */
  readonly at: number
  /** In the order of `OUTCOMES`. */
  readonly counts: readonly number[]
}

export type Activity = ReturnType<typeof createActivity>

const SECONDS = 300
/** Keeps at least the latest exchange, however large it is. */
const LIMITS = { capacity: 500, characters: 8 * 1_048_576, least: 1 }
/**
 * V8 copies kept exchanges at each collection: under load, 500 of them take 5 to 7 % of a request's
 * CPU time, 20 take 2 %. A watching page gets at most 20 at a time.
 */
const BURST = { requestsPerSecond: 1_000, kept: 20 }

export type WatchedWorld = ConsoleWorld & { readonly secrets: () => Keys }

/** Keeps the latest exchanges of an API, and their number in each of the last seconds. */
export function createActivity(world: WatchedWorld) {
  const { last, find, since, add, trim } = createLog<Kept>(LIMITS)
  const numbers = createNumbers()
  const seconds: { readonly at: number; readonly counts: number[]; requests: number }[] = []
  return {
    last,
    find,
    since,
    /** @param start arrival, by `performance.now()` @returns the response */
    record(given: ApiRequest, body: ReadRequest['body'], response: ApiResponse, start: number) {
      const durationMs = performance.now() - start
      const at = world.clock()
      const request = withoutConnection(given, body)
      const keys = world.secrets()
      const { at: second, requests } = count(response, world.clock === Date.now ? at : Date.now())
      const connection = numbers.of(given.connection)
      add(
        { n: last() + 1, request, keys, response, at, durationMs, second, connection },
        (request.body?.length ?? 0) + response.body.length,
      )
      if (requests > BURST.requestsPerSecond) trim(BURST.kept)
      return response
    },
    /** Seconds with requests, starting at `from`, oldest first. */
    traffic: (from: number): readonly Second[] =>
      seconds.filter(({ at }) => at >= from).map(({ at, counts }) => ({ at, counts: [...counts] })),
  }

  function count(response: ApiResponse, now: number) {
    const at = Math.floor(now / 1000)
    let second = seconds.at(-1)
    if (second?.at !== at) {
      second = { at, counts: OUTCOMES.map(() => 0), requests: 0 }
      seconds.push(second)
      if (seconds.length > SECONDS) seconds.shift()
    }
    const { status, deliver } = response
    const lost = deliver !== undefined
    const code = status === 429 ? errorOf(response).code : null
    const outcome = OUTCOMES.indexOf(outcomeOf({ status, code, lost }))
    second.counts[outcome] = (second.counts[outcome] ?? 0) + 1
    second.requests++
    return second
  }
}

/** Drops `isGone`, which keeps memory of Node; a resent request has another caller anyway. */
function withoutConnection(given: ApiRequest, body: ReadRequest['body']): ReadRequest {
  const { method, path, query, headers, client, refusal } = given
  return { method, path, query, headers, body, client, refusal }
}
