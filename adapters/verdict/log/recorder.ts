import type { Operation } from '../../../src/pets/specification.js'
import type { Clock } from '../../../src/ports.js'
import type { ApiResponse, Connection } from '../../../src/protocol/api-request.js'
import { curlOf } from './copy-as-curl.js'
import { type Exchange, exchangeOf, originOf, outlineOf, type Recorded } from './exchange.js'
import type { FaultKind } from './fault-kinds.js'
import { type HarSource, harSourceOf } from './har.js'
import { createLog } from './log.js'
import type { ReadRequest, SenderSeen } from './read-request.js'
import { type Keys, redactedBody, redactorOf } from './redact.js'

export interface RecorderOptions {
  /** How many exchanges it keeps at most. */
  readonly capacity: number
  /** How many characters of headers and bodies it keeps at most. */
  readonly characters: number
  readonly clock: Clock
  /** Real time in ms, where the clock may stand still while clients wait. */
  readonly realTime?: Clock
  /** The valid API keys, which are redacted: the same value as long as they are the same. */
  readonly keys: () => Keys
  /** Whether the store knows the parameter `after`. */
  readonly pagination: boolean
  /** Where requests of this process are sent. */
  readonly origin: string
  readonly callers: Callers
  /** Called when exchanges are no longer kept and were not taken yet. */
  readonly onOverflow: () => void
}

/** Determines what the sender of a request can have known, as the verdict's `createCallers` does. */
export interface Callers {
  /** @param isPipelined whether it was sent before the response ahead of it on its connection */
  arrive(caller: string, connection?: Connection, isPipelined?: boolean): SenderSeen
  /** The answer to one of the caller's requests is on its way. */
  leave(caller: string, connection?: Connection): void
  /** How many connections have been numbered. */
  connections(): number
}

/** As plain data, without credentials. */
export interface JournalState {
  readonly exchanges: readonly Exchange[]
  /** How many requests have arrived: the `n` of the last one. */
  readonly received: number
  /** How many exchanges were dropped because there were too many. */
  readonly dropped: number
  /** How many connections they arrived on. */
  readonly connections: number
}

/** An exchange that can be shown in other ways. */
export interface JournalEntry extends Exchange {
  /**
   * The request as a command for bash, with the key in `$ADOPTION_STORE_API_KEY`.
   *
   * @param origin where to send it; by default where it was sent
   */
  toCurl(origin?: string): string
}

/** What a request is for, and the id of its key. */
export interface Call {
  readonly operation: Operation | undefined
  readonly keyId: string | undefined
}

/** An exchange in the log: recorded here, or as a snapshot had it. */
type Item = { readonly recorded: Recorded; plain: Plain | undefined } | Plain

/** An exchange that no longer changes. It is frozen, so snapshots and doubles share it. */
interface Plain {
  readonly recorded: undefined
  readonly exchange: Exchange
  readonly size: number
}

export type Recorder = ReturnType<typeof createRecorder>
/** An exchange whose response is still to come. */
export type OpenExchange = ReturnType<Recorder['begin']>

/** The last exchanges with a service, in the order of arrival. */
export function createRecorder(options: RecorderOptions, state?: JournalState) {
  const { capacity, characters, clock, realTime, keys, pagination, origin, callers, onOverflow } =
    options
  const { exchanges = [], received = 0, dropped = 0 } = state ?? {}
  const begin = { last: received - exchanges.length, dropped }
  const log = createLog<Item>({ capacity, characters, begin })
  for (const plain of DUMPED.get(exchanges) ?? exchanges.map(copyOf).map(frozen)) {
    log.add(plain, plain.size)
  }
  const lag = realTime ? lagOf(clock, realTime) : () => 0
  let taken = received
  let ended: Recorded[] = []

  return {
    /** Records a request as it arrives. */
    begin(request: ReadRequest, { operation, keyId }: Call) {
      const { connection } = request
      const caller = keyId === undefined ? `${request.client}` : `key ${keyId}`
      const seen = request.seen ?? callers.arrive(caller, connection, request.pipelined)
      const recorded: Recorded = {
        n: log.last() + 1,
        at: clock(),
        lag: lag(request),
        request: ownCopy(request),
        // Of this moment: a key may be revoked before its response is here.
        keys: keys(),
        operation,
        keyId,
        ...seen,
        fault: null,
        answer: undefined,
      }
      const { path, query, headers, body } = request
      log.add({ recorded, plain: undefined }, OVERHEAD + sizeOf(path, query, headers, body))
      passOnDropped()
      return {
        n: recorded.n,
        /** The request's body, where it arrives after the headers. */
        receive(body: Uint8Array): void {
          recorded.request = { ...recorded.request, body: new Uint8Array(body) }
          log.grow(recorded.n, body.length)
          passOnDropped()
        },
        /** What is known of its sender. */
        seen,
        /** As it is now, for an archive. */
        source: () => harSourceOf(recorded, pagination, origin),
        /** Names the fault that was injected. */
        note(fault: FaultKind): void {
          recorded.fault = fault
        },
        /** Records the response. */
        end(response: ApiResponse): void {
          callers.leave(caller, connection)
          if (recorded.fault !== 'hang')
            recorded.answer = { at: clock(), lag: lag(request), response }
          ended.push(recorded)
          if (recorded.answer) log.grow(recorded.n, sizeOf(response.headers, response.body))
          passOnDropped()
        },
      }
    },
    list: (): readonly JournalEntry[] =>
      log.since().map(item => entryOf(plainOf(item).exchange, item.recorded, origin)),
    /** The exchanges that match, for an archive. */
    sources: (matches: (exchange: Exchange) => boolean): readonly HarSource[] =>
      log.since().flatMap(item => {
        const plain = plainOf(item).exchange
        if (!matches(plain)) return []
        if (item.recorded) return harSourceOf(item.recorded, pagination, origin)
        return { ...plain, origin: originOf(plain.requestHeaders, origin) }
      }),
    /**
     * How many requests have arrived, and the exchanges that ended, in the order of their answers:
     * since the last call.
     */
    take() {
      const arrived = log.last() - taken
      taken = log.last()
      const outlines = ended.map(recorded => outlineOf(recorded, pagination))
      ended = []
      return { arrived, ended: outlines }
    },
    /** The `n` of the latest. */
    received: log.last,
    /** How many exchanges were dropped because there were too many. */
    dropped: log.dropped,
    clear: log.clear,
    dump: (): JournalState => ({
      exchanges: shared(log.since().map(plainOf)),
      received: log.last(),
      dropped: log.dropped(),
      connections: callers.connections(),
    }),
  }

  /** What waits to be taken must not outlive what the log holds. */
  function passOnDropped(): void {
    const [oldest] = ended
    if (oldest && oldest.n < log.first()) onOverflow()
  }

  function plainOf(item: Item): Plain {
    if (!item.recorded) return item
    if (item.plain) return item.plain
    const plain = frozen(exchangeOf(item.recorded, pagination))
    if (item.recorded.answer) item.plain = plain
    return plain
  }
}

/** A clock that is read a little later than real time is not behind it. In ms. */
const LEAST_LAG = 100

/**
 * Between two requests over sockets, the longer pause counts: that of the clock, or of real time.
 *
 * @returns how far real time has come ahead, in ms
 */
function lagOf(clock: Clock, realTime: Clock): (request: ReadRequest) => number {
  let last: { readonly own: number; readonly real: number } | undefined
  let lag = 0
  return ({ headers: { host } }) => {
    // Calls of this process wait by the clock.
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

/** What dumps consist of, so that a recorder can share it. */
const DUMPED = new WeakMap<readonly Exchange[], readonly Plain[]>()

function shared(plains: readonly Plain[]): readonly Exchange[] {
  const exchanges = Object.freeze(plains.map(({ exchange }) => exchange))
  DUMPED.set(exchanges, plains)
  return exchanges
}

function frozen(exchange: Exchange): Plain {
  const { url, requestHeaders, requestBody, headers, body, unknown } = exchange
  for (const part of [requestHeaders, headers, unknown, exchange]) Object.freeze(part)
  const size = OVERHEAD + sizeOf(url, requestHeaders, requestBody, headers, body)
  return { recorded: undefined, exchange, size }
}

/** Callers may go on to change what they passed. */
function ownCopy({ body, headers, isGone: _, ...request }: ReadRequest): ReadRequest {
  const own = typeof body === 'string' ? body : body && new Uint8Array(body)
  return { ...request, headers: { ...headers }, body: own }
}

/** What every exchange costs, whatever it says. */
const OVERHEAD = 500

/** Of texts, bytes and headers. */
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

/** Callers may change what they get. */
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
  // Not enumerable: an entry compares and serializes as plain data.
  return Object.defineProperty(copyOf(plain), 'toCurl', { value: toCurl }) as JournalEntry
}
