import type { Operation } from '../../../src/pets/specification.js'
import type { Clock } from '../../../src/ports.js'
import type { ApiResponse } from '../../../src/protocol/api-request.js'
import { createLog } from './bounded-log.js'
import { createCallers } from './callers.js'
import { curlOf } from './copy-as-curl.js'
import { type Exchange, exchangeOf, originOf, outlineOf, type Recorded } from './exchange.js'
import type { FaultKind } from './fault-kinds.js'
import { type HarSource, harSourceOf } from './har.js'
import type { ReadRequest } from './read-request.js'
import { type Keys, redactedBody, redactorOf } from './redact.js'

export interface RecorderOptions {
  readonly capacity: number
  readonly characters: number
  readonly clock: Clock
  /** Real time in ms, if the clock may stand still while clients wait. */
  readonly realTime?: Clock
  /** Valid API keys to redact; a new value after each change. */
  readonly keys: () => Keys
  readonly pagination: boolean
  /** Origin of requests within this process. */
  readonly origin: string
  /** Called when exchanges are dropped before they were taken. */
  readonly onOverflow: () => void
}

/** The journal as plain data, without credentials. */
export interface JournalState {
  readonly exchanges: readonly Exchange[]
  /** Number of requests so far: the `n` of the last one. */
  readonly received: number
  readonly dropped: number
  readonly connections: number
}

export interface JournalEntry extends Exchange {
  /**
   * Writes the request as a bash command, with the key in `$ADOPTION_STORE_API_KEY`.
   * @param origin where to send it; by default where it was sent
   */
  toCurl(origin?: string): string
}

export interface Call {
  readonly operation: Operation | undefined
  readonly keyId: string | undefined
}

/** An exchange recorded here, whose plain form is kept once it is complete, or a restored one. */
type Item =
  | { readonly recorded: Recorded; plain?: Exchange }
  | { readonly recorded?: never; readonly plain: Exchange }

export type Recorder = ReturnType<typeof createRecorder>

/** Keeps the last exchanges with a service, in order of arrival. */
export function createRecorder(options: RecorderOptions, state?: JournalState) {
  const { capacity, characters, clock, realTime, keys, pagination, origin, onOverflow } = options
  const callers = createCallers(state?.connections)
  const parameters = ['limit', 'status', ...(pagination ? ['after'] : [])]
  const { exchanges = [], received = 0, dropped = 0 } = state ?? {}
  const begin = { last: received - exchanges.length, dropped }
  const log = createLog<Item>({ capacity, characters, begin })
  for (const exchange of exchanges) {
    const plain = Object.isFrozen(exchange) ? exchange : frozen(copyOf(exchange))
    const { url, requestHeaders, requestBody, headers, body } = plain
    const size = OVERHEAD + sizeOf(url, requestHeaders, requestBody, headers, body)
    log.add({ plain }, size)
  }
  const lag = realTime ? lagOf(clock, realTime) : () => 0
  let taken = received
  let ended: Recorded[] = []

  return {
    begin(request: ReadRequest, { operation, keyId }: Call) {
      const { connection } = request
      const caller = keyId === undefined ? `${request.client}` : `key ${keyId}`
      const seen = request.seen ?? callers.arrive(caller, connection, request.pipelined)
      const recorded: Recorded = {
        n: log.last() + 1,
        at: clock(),
        lag: lag(request),
        request: ownCopy(request),
        // Keys valid now: one may be revoked before the response.
        keys: keys(),
        operation,
        keyId,
        parameters,
        ...seen,
        fault: null,
        answer: undefined,
      }
      const { path, query, headers, body } = request
      log.add({ recorded }, OVERHEAD + sizeOf(path, query, headers, body))
      return {
        n: recorded.n,
        /** Adds a request body that arrives after the headers. */
        receive(body: Uint8Array): void {
          recorded.request = { ...recorded.request, body: new Uint8Array(body) }
          log.grow(recorded.n, body.length)
        },
        seen,
        source: () => harSourceOf(recorded, origin),
        note(fault: FaultKind): void {
          recorded.fault = fault
        },
        end(response: ApiResponse): void {
          callers.leave(caller, connection)
          if (recorded.fault !== 'hang')
            recorded.answer = { at: clock(), lag: lag(request), response }
          ended.push(recorded)
          if (recorded.answer) log.grow(recorded.n, sizeOf(response.headers, response.body))
          const [oldest] = ended
          // Exchanges to be taken must not pile up beyond the log.
          if (oldest && oldest.n < log.first()) onOverflow()
        },
      }
    },
    list: (): readonly JournalEntry[] =>
      log.since().map(item => entryOf(plainOf(item), item.recorded, origin)),
    sources: (matches: (exchange: Exchange) => boolean): readonly HarSource[] =>
      log.since().flatMap(item => {
        const plain = plainOf(item)
        if (!matches(plain)) return []
        if (item.recorded) return harSourceOf(item.recorded, origin)
        return { ...plain, origin: originOf(plain.requestHeaders, origin) }
      }),
    take() {
      const arrived = log.last() - taken
      taken = log.last()
      const outlines = ended.map(recorded => outlineOf(recorded))
      ended = []
      return { arrived, ended: outlines }
    },
    received: log.last,
    dropped: log.dropped,
    clear: log.clear,
    dump: (): JournalState => ({
      exchanges: log.since().map(plainOf),
      received: log.last(),
      dropped: log.dropped(),
      connections: callers.connections(),
    }),
  }

  function plainOf(item: Item): Exchange {
    if (!item.recorded) return item.plain
    if (item.plain) return item.plain
    const plain = frozen(exchangeOf(item.recorded))
    if (item.recorded.answer) item.plain = plain
    return plain
  }
}

/** Tolerance in ms for real time, which is read a little later than the clock. */
const LEAST_LAG = 100

/**
 * Measures, for requests over sockets, the longer pause: by the clock, or in real time.
 * @returns the lead of real time, in ms
 */
function lagOf(clock: Clock, realTime: Clock): (request: ReadRequest) => number {
  let last: { readonly own: number; readonly real: number } | undefined
  let lag = 0
  return ({ headers: { host } }) => {
    // Calls within this process wait by the clock.
    if (host === undefined) return lag
    const [own, real] = [clock(), realTime()]
    last ??= { own, real }
    const ahead = real - last.real - Math.max(0, own - last.own)
    if (ahead < 0 || ahead >= LEAST_LAG) {
      last = { own, real }
      lag += Math.max(0, ahead)
    }
    return lag
  }
}

/** Snapshots and doubles can share a frozen exchange. */
function frozen(exchange: Exchange): Exchange {
  const { requestHeaders, headers, unknown } = exchange
  for (const part of [requestHeaders, headers, unknown, exchange]) Object.freeze(part)
  return exchange
}

/** Copies the request, which callers may go on to change. */
function ownCopy({ body, headers, isGone: _, ...request }: ReadRequest): ReadRequest {
  const own = typeof body === 'string' ? body : body && new Uint8Array(body)
  return { ...request, headers: { ...headers }, body: own }
}

/** Fixed cost of an exchange, in characters. */
const OVERHEAD = 500

function sizeOf(
  ...parts: readonly (ReadRequest['body'] | ReadRequest['headers'] | null)[]
): number {
  let size = 0
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Uint8Array) size += part.length
    else for (const name in part) size += name.length + String(part[name]).length
  }
  return size
}

function copyOf(exchange: Exchange): Exchange {
  const { requestHeaders, headers, unknown } = exchange
  return {
    ...exchange,
    requestHeaders: { ...requestHeaders },
    headers: { ...headers },
    unknown: [...unknown],
  }
}

function entryOf(plain: Exchange, recorded: Recorded | undefined, origin: string): JournalEntry {
  const { method, url: target, requestHeaders: headers, requestBody } = plain
  const toCurl = (to = originOf(headers, origin)) => {
    const body = recorded
      ? redactedBody(recorded.request.body, redactorOf(recorded, 'shown'))
      : (requestBody ?? '')
    return curlOf({ method, target, headers, body }, to)
  }
  // Not enumerable, so that an entry compares and serializes as plain data.
  return Object.defineProperty(copyOf(plain), 'toCurl', { value: toCurl }) as JournalEntry
}
