import type { ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { createNumbers } from '../../verdict/log/connections.js'
import { codeOf } from '../../verdict/log/exchange.js'
import { createLog } from '../../verdict/log/log.js'
import type { Answered } from '../../verdict/log/log-entry.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import type { Keys } from '../../verdict/log/redact.js'
import type { ConsoleWorld } from './console-options.js'
import { OUTCOMES, outcomeOf } from './outcome.js'

/** An exchange as it was. */
export interface Kept extends Answered {
  readonly request: ReadRequest
  /** 1, 2, 3 … in the order of the answers. */
  readonly n: number
  /** When it was answered, in Unix seconds of real time. */
  readonly second: number
  /** The number of its connection; null where the door does not name it. */
  readonly connection: number | null
}

/** Requests in one second of real time. */
export interface Second {
  /** Unix seconds. */
  readonly at: number
  /** In the order of `OUTCOMES`. */
  readonly counts: readonly number[]
}

export type Activity = ReturnType<typeof createActivity>

const SECONDS = 300
/** At least the latest exchange can be opened, however large it is. */
const LIMITS = { capacity: 500, characters: 8 * 1_048_576, least: 1 }
/**
 * V8 copies what is kept at each collection. Under load, recording takes 5 to 7 % of the CPU time of
 * a request with 500 exchanges kept, and 2 % with 20. A watching page gets no more than 20 at a time.
 */
const BURST = { requestsPerSecond: 1_000, kept: 20 }

/** A world, with what no page may show of it. */
export type WatchedWorld = ConsoleWorld & { readonly secrets: () => Keys }

/** The latest exchanges with an API, and how many there were in each of the last seconds. */
export function createActivity(world: WatchedWorld) {
  const { last, find, since, add, trim } = createLog<Kept>(LIMITS)
  const numbers = createNumbers()
  const seconds: { readonly at: number; readonly counts: number[]; requests: number }[] = []
  return {
    isWatched: false,
    last,
    find,
    since,
    /**
     * @param body the request's, as far as it was read
     * @param start when the request came, by `performance.now()`; null when nobody watches, because
     * reading the time costs more than all the rest
     * @returns the response
     */
    record(
      given: ApiRequest,
      body: ReadRequest['body'],
      response: ApiResponse,
      start: number | null,
    ): ApiResponse {
      const ms = start === null ? null : performance.now() - start
      const at = world.clock()
      const request = withoutConnection(given, body)
      const keys = world.secrets()
      const { at: second, requests } = count(response, world.clock === Date.now ? at : Date.now())
      const connection = numbers.of(given.connection)
      add(
        { n: last() + 1, request, keys, response, at, ms, second, connection },
        (request.body?.length ?? 0) + response.body.length,
      )
      if (requests > BURST.requestsPerSecond) trim(BURST.kept)
      return response
    },
    /** The seconds from `at` on that had requests, oldest first. */
    traffic: (from: number): readonly Second[] =>
      seconds.filter(({ at }) => at >= from).map(({ at, counts }) => ({ at, counts: [...counts] })),
  }

  /** @returns the second of real time, with its requests so far */
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
    const code = status === 429 ? codeOf(response) : null
    const outcome = OUTCOMES.indexOf(outcomeOf({ status, code, lost }))
    second.counts[outcome] = (second.counts[outcome] ?? 0) + 1
    second.requests++
    return second
  }
}

/** A door's `isGone` holds Node's messages in memory, and a request that is sent again has another caller. */
function withoutConnection(given: ApiRequest, body: ReadRequest['body']): ReadRequest {
  const { method, path, query, headers, mount, client, refusal } = given
  return { method, path, query, headers, body, mount, client, refusal }
}
