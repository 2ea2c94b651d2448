import type { ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import type { Answered } from '../exchanges/entry.js'
import { codeOf } from '../exchanges/exchange.js'
import { createLog, type Log } from '../exchanges/log.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import { OUTCOMES, outcomeOf, type Second } from './messages.js'
import type { ConsoleWorld } from './options.js'

/** An exchange as it was. */
export interface Kept extends Answered {
  readonly request: ReadRequest
  /** 1, 2, 3 … in the order of the answers. */
  readonly n: number
}

/** The latest exchanges with an API, and how many there were in each of the last seconds. */
export interface Activity extends Pick<Log<Kept>, 'last' | 'find' | 'since'> {
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
  /** The seconds from `at` on that had requests, oldest first. */
  traffic(at: number): readonly Second[]
  isWatched: boolean
}

const SECONDS = 300
/** At least the latest exchange can be opened, however large it is. */
const LIMITS = { capacity: 500, bytes: 8 * 1_048_576, least: 1 }
/**
 * V8 copies what is kept at each collection. Under load, recording takes 5 to 7 % of the CPU time of
 * a request with 500 exchanges kept, and 2 % with 20. A watching page gets no more than 20 at a time.
 */
const BURST = { requestsPerSecond: 1_000, kept: 20 }

export function createActivity(world: ConsoleWorld): Activity {
  const { last, find, since, add, trim } = createLog<Kept>(LIMITS)
  const seconds: { readonly at: number; readonly counts: number[]; requests: number }[] = []
  return {
    isWatched: false,
    last,
    find,
    since,
    record(given, body, response, start) {
      const ms = start === null ? null : performance.now() - start
      const at = world.clock()
      const request = withoutConnection(given, body)
      const keys = secretKeysOf(world)
      add(
        { n: last() + 1, request, keys, response, at, ms },
        (request.body?.length ?? 0) + response.body.length,
      )
      const thisSecond = count(response, world.clock === Date.now ? at : Date.now())
      if (thisSecond > BURST.requestsPerSecond) trim(BURST.kept)
      return response
    },
    traffic: from =>
      seconds.filter(({ at }) => at >= from).map(({ at, counts }) => ({ at, counts: [...counts] })),
  }

  /** @returns how many requests this second has had */
  function count(response: ApiResponse, now: number): number {
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
    return ++second.requests
  }
}

/** A door's `isGone` holds Node's messages in memory, and a request that is sent again has another caller. */
function withoutConnection(given: ApiRequest, body: ReadRequest['body']): ReadRequest {
  const { method, path, query, headers, mount, client, refusal } = given
  return { method, path, query, headers, body, mount, client, refusal }
}

const secretKeys = new WeakMap<object, readonly string[]>()

/** The valid API keys that the page does not show: the same list as long as they are the same. */
export function secretKeysOf({ apiKeys, isPublicKey }: ConsoleWorld): readonly string[] {
  const all = apiKeys()
  const found = secretKeys.get(all) ?? Object.keys(all).filter(key => !isPublicKey(key))
  secretKeys.set(all, found)
  return found
}
