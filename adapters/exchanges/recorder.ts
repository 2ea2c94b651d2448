import type { Operation } from '../../src/pets/specification.js'
import type { Clock } from '../../src/ports.js'
import type { ApiResponse, Connection } from '../../src/protocol/api.js'
import { curlOf } from './curl.js'
import {
  type Exchange,
  exchangeOf,
  type Outline,
  originOf,
  outlineOf,
  type Recorded,
} from './exchange.js'
import type { FaultKind } from './fault-kinds.js'
import { type HarSource, harSourceOf } from './har.js'
import { createLog } from './log.js'
import type { ReadRequest, SenderSeen } from './read-request.js'
import { type Keys, redactedBody, redactorOf } from './redact.js'

export interface RecorderOptions {
  /** How many exchanges it keeps at most. */
  readonly capacity: number
  /** How many characters of headers and bodies it keeps at most. */
  readonly bytes: number
  readonly clock: Clock
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

/** The last exchanges with a service, in the order of arrival. */
export interface Recorder {
  /** Records a request as it arrives. */
  begin(request: ReadRequest, call: Call): OpenExchange
  list(): readonly JournalEntry[]
  /** The exchanges that match, for an archive. */
  sources(matches: (exchange: Exchange) => boolean): readonly HarSource[]
  /** How many requests have arrived, and the exchanges that ended, in the order of their answers: since the last call. */
  take(): { readonly arrived: number; readonly ended: readonly Outline[] }
  /** The `n` of the latest. */
  received(): number
  /** How many exchanges were dropped because there were too many. */
  dropped(): number
  clear(): void
  dump(): JournalState
}

/** What a request is for, and the id of its key. */
export interface Call {
  readonly operation: Operation | undefined
  readonly key: string | undefined
}

/** An exchange whose response is still to come. */
export interface OpenExchange {
  /** The request's body, where it arrives after the headers. */
  receive(body: Uint8Array): void
  /** What is known of its sender. */
  readonly seen: SenderSeen
  /** As it is now, for an archive. */
  source(): HarSource
  /** Names the fault that was injected. */
  note(fault: FaultKind): void
  /** Records the response. */
  end(response: ApiResponse): void
}

/** An exchange in the log: recorded here, or as a snapshot had it. */
type Item = Live | Plain

interface Live {
  readonly recorded: Recorded
  /** Once it no longer changes. */
  plain: Plain | undefined
}

/** Nobody can change it, so snapshots and doubles share it. */
interface Plain {
  readonly recorded: undefined
  readonly exchange: Exchange
  readonly size: number
}

export function createRecorder(options: RecorderOptions, state?: JournalState): Recorder {
  const { capacity, bytes, clock, keys, pagination, origin, callers, onOverflow } = options
  const { exchanges = [], received = 0, dropped = 0 } = state ?? {}
  const begin = { last: received - exchanges.length, dropped }
  const log = createLog<Item>({ capacity, bytes, begin })
  for (const item of DUMPED.get(exchanges) ?? exchanges.map(copyOf).map(frozen)) {
    log.add(item, item.size)
  }
  let taken = received
  let ended: Recorded[] = []

  return {
    begin(request, { operation, key }) {
      const { connection } = request
      const caller = key === undefined ? `${request.client}` : `key ${key}`
      const seen = request.seen ?? callers.arrive(caller, connection, request.pipelined)
      const recorded: Recorded = {
        n: log.last() + 1,
        at: clock(),
        request: ownCopy(request),
        // Of this moment: a key may be revoked before its response is here.
        keys: keys(),
        operation,
        key,
        ...seen,
        fault: null,
        answer: undefined,
      }
      log.add({ recorded, plain: undefined }, requestSize(request))
      passOnDropped()
      return {
        receive(body) {
          recorded.request = { ...recorded.request, body: new Uint8Array(body) }
          log.grow(recorded.n, body.length)
          passOnDropped()
        },
        seen,
        source: () => harSourceOf(recorded, pagination, origin),
        note(fault) {
          recorded.fault = fault
        },
        end(response) {
          callers.leave(caller, connection)
          if (recorded.fault !== 'hang') recorded.answer = { at: clock(), response }
          ended.push(recorded)
          if (recorded.answer) log.grow(recorded.n, responseSize(response))
          passOnDropped()
        },
      }
    },
    list: () => log.since().map(item => entryOf(item, plainOf(item).exchange, origin)),
    sources: matches =>
      log
        .since()
        .filter(item => matches(plainOf(item).exchange))
        .map(item =>
          item.recorded
            ? harSourceOf(item.recorded, pagination, origin)
            : { ...item.exchange, origin: originOf(item.exchange.requestHeaders, origin) },
        ),
    take() {
      const arrived = log.last() - taken
      taken = log.last()
      const outlines = ended.map(recorded => outlineOf(recorded, pagination))
      ended = []
      return { arrived, ended: outlines }
    },
    received: log.last,
    dropped: log.dropped,
    clear: log.clear,
    dump() {
      const items = log.since().map(plainOf)
      const exchanges = Object.freeze(items.map(({ exchange }) => exchange))
      DUMPED.set(exchanges, items)
      return {
        exchanges,
        received: log.last(),
        dropped: log.dropped(),
        connections: callers.connections(),
      }
    },
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

/** What dumps consist of, so that a recorder can share it. */
const DUMPED = new WeakMap<readonly Exchange[], readonly Plain[]>()

function frozen(exchange: Exchange): Plain {
  const { requestHeaders, headers, unknown } = exchange
  for (const part of [requestHeaders, headers, unknown, exchange]) Object.freeze(part)
  return { recorded: undefined, exchange, size: sizeOf(exchange) }
}

/** Callers may go on to change what they passed. */
function ownCopy({ body, headers, isGone: _, ...request }: ReadRequest): ReadRequest {
  const own = typeof body === 'string' ? body : body && new Uint8Array(body)
  return { ...request, headers: { ...headers }, body: own }
}

/** What every exchange costs, whatever it says. */
const OVERHEAD = 500

function sizeOf({ url, requestHeaders, requestBody, headers, body }: Exchange): number {
  const texts = url.length + (requestBody?.length ?? 0) + (body?.length ?? 0)
  return OVERHEAD + texts + sizeOfHeaders(requestHeaders) + sizeOfHeaders(headers)
}

function requestSize({ path, query, headers, body }: ReadRequest): number {
  const target = path.length + (query === '' ? 0 : query.length + 1)
  return OVERHEAD + target + sizeOfHeaders(headers) + (body?.length ?? 0)
}

function responseSize({ headers, body }: ApiResponse): number {
  return sizeOfHeaders(headers) + body.length
}

function sizeOfHeaders(headers: ReadRequest['headers']): number {
  let size = 0
  for (const name in headers) size += name.length + String(headers[name]).length
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

function entryOf({ recorded }: Item, exchange: Exchange, origin: string): JournalEntry {
  const { method, url: target, requestHeaders: headers, requestBody } = exchange
  const toCurl = (to = originOf(headers, origin)) => {
    const body = recorded
      ? redactedBody(recorded.request.body, redactorOf(recorded, 'shown'))
      : (requestBody ?? '')
    return curlOf({ method, target, headers, body }, to)
  }
  // Not enumerable: an entry compares and serializes as plain data.
  return Object.defineProperty(copyOf(exchange), 'toCurl', { value: toCurl }) as JournalEntry
}
