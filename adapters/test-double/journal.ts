import {
  isCount,
  isOneOf,
  isText,
  optional,
  orNull,
  type Rule,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import { OPERATIONS, type Operation } from '../../src/pets/specification.js'
import type { Clock } from '../../src/ports.js'
import type { ApiResponse } from '../../src/protocol/api.js'
import type { ReadRequest } from '../shared/read-request.js'
import { type Instant, instantOf } from '../shared/time.js'
import { createCallers } from './callers.js'
import {
  complete,
  createRedactor,
  type Draft,
  draftOf,
  type Exchange,
  type Redact,
} from './exchange.js'
import type { Call, FaultKind } from './faults/faults.js'
import type { Recording } from './verdict/verdict.js'

/** Matches exchanges that have all of it. */
export interface ExchangeFilter {
  /** The id of a key; null for requests without a valid one. */
  readonly key?: string | null | undefined
  readonly operation?: Operation | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly status?: number | undefined
  /** From this instant on, */
  readonly since?: Instant | undefined
  /** and before this one. */
  readonly until?: Instant | undefined
}

/** An exchange that can be shown in other ways. */
export interface JournalEntry extends Exchange {
  /**
   * The request as a command for a shell, with the key in `$ADOPTION_STORE_API_KEY`.
   *
   * @param origin where to send it; by default where it was sent
   */
  toCurl(origin?: string): string
}

export interface JournalOptions {
  /** How many exchanges it keeps at most. */
  readonly capacity: number
  /** How many characters of headers and bodies it keeps at most. */
  readonly bytes: number
  readonly clock: Clock
  /** The valid API keys, which are redacted. */
  readonly keys: () => Iterable<string>
  readonly pagination: boolean
  /** Where requests of this process are sent. */
  readonly origin: string
}

export interface JournalState {
  readonly exchanges: readonly Exchange[]
  /** How many requests have arrived: the `n` of the last one. */
  readonly received: number
  /** How many exchanges were dropped because there were too many. */
  readonly dropped: number
  /** How many connections they arrived on. */
  readonly connections: number
}

export interface Journal {
  /** Records a request as it arrives. */
  begin(request: ReadRequest, call: Call): OpenEntry
  /** In the order of arrival. @throws OptionError */
  list(filter?: ExchangeFilter): readonly JournalEntry[]
  /** How many exchanges were dropped because there were too many. */
  dropped(): number
  clear(): void
  dump(): JournalState
}

/** The entry of a request that is being answered. */
export interface OpenEntry {
  /** Names the fault that was injected. */
  note(fault: FaultKind): void
  /** Records the response. */
  end(response: ApiResponse): void
}

/** The last exchanges with a store; the verdict hears all of them. */
export function createJournal(
  options: JournalOptions,
  recording: Recording,
  state?: JournalState,
): Journal {
  const { capacity, bytes, clock, keys, pagination, origin } = options
  const drafts: Draft[] = (state?.exchanges ?? []).map(copyOf)
  const callers = createCallers(state?.connections)
  let size = drafts.reduce((sum, draft) => sum + sizeOf(draft), 0)
  let dropped = state?.dropped ?? 0
  let n = state?.received ?? 0
  dropOldest()

  return {
    begin(request, call) {
      const { connection } = request
      const caller = call.key === undefined ? `${request.client}` : `key ${call.key}`
      const known = callers.arrive(caller, connection, request.pipelined)
      // Of this moment: a key may be revoked before its response is here.
      const redact = createRedactor(request, keys())
      const draft = draftOf(request, call, { n: ++n, at: clock(), ...known }, pagination, redact)
      recording.arrive()
      drafts.push(draft)
      size += requestSize(draft)
      dropOldest()
      return {
        note(fault) {
          draft.fault = fault
        },
        end(response) {
          callers.leave(caller, connection)
          if (draft.fault !== 'hang') finish(draft, response, redact)
          recording.see(draft)
        },
      }
    },
    list(filter) {
      const matches = matcher(filter)
      return drafts.filter(matches).map(draft => entry(draft, origin))
    },
    dropped: () => dropped,
    clear() {
      drafts.length = 0
      dropped = 0
      size = 0
      recording.clear(n)
    },
    dump: () => ({
      exchanges: drafts.map(copyOf),
      received: n,
      dropped,
      connections: callers.connections(),
    }),
  }

  function finish(draft: Draft, response: ApiResponse, redact: Redact): void {
    complete(draft, response, clock(), redact)
    // It may have been dropped or cleared meanwhile.
    if (!drafts[0] || draft.n < drafts[0].n) return
    size += responseSize(draft)
    dropOldest()
  }

  function dropOldest(): void {
    while (drafts.length > capacity || size > bytes) {
      const oldest = drafts.shift()
      if (!oldest) return
      size -= sizeOf(oldest)
      dropped++
    }
  }
}

/** What every exchange costs, whatever it says. */
const OVERHEAD = 500

function sizeOf(exchange: Exchange): number {
  return requestSize(exchange) + responseSize(exchange)
}

function requestSize({ url, requestHeaders, requestBody }: Exchange): number {
  return OVERHEAD + url.length + sizeOfHeaders(requestHeaders) + (requestBody?.length ?? 0)
}

function responseSize({ headers, body }: Exchange): number {
  return sizeOfHeaders(headers) + (body?.length ?? 0)
}

function sizeOfHeaders(headers: Readonly<Record<string, string>>): number {
  let size = 0
  for (const name in headers) size += name.length + String(headers[name]).length
  return size
}

const ANYTHING: Rule = { expected: 'anything', accepts: () => true }

const FILTER_RULES: Rules<ExchangeFilter> = {
  key: optional(orNull(isText)),
  operation: optional(isOneOf(OPERATIONS)),
  method: optional(isText),
  path: optional(isText),
  status: optional(isCount),
  since: ANYTHING,
  until: ANYTHING,
}

function matcher(filter: ExchangeFilter | undefined): (exchange: Exchange) => boolean {
  const { since, until, ...wanted } = readOptions<ExchangeFilter, object>(filter, {}, FILTER_RULES)
  const from = since === undefined ? Number.NEGATIVE_INFINITY : instantOf('since', since)
  const to = until === undefined ? Number.POSITIVE_INFINITY : instantOf('until', until)
  const fields = Object.entries(wanted) as [keyof Exchange, unknown][]
  return exchange =>
    exchange.at >= from &&
    exchange.at < to &&
    fields.every(([name, value]) => value === undefined || exchange[name] === value)
}

/** Callers may change what they get. */
function copyOf(exchange: Exchange): Draft {
  const { requestHeaders, headers, unknown } = exchange
  return {
    ...exchange,
    requestHeaders: { ...requestHeaders },
    headers: { ...headers },
    unknown: [...unknown],
  }
}

function entry(exchange: Exchange, origin: string): JournalEntry {
  const { host } = exchange.requestHeaders
  const sentTo = host === undefined ? origin : `http://${host}`
  const toCurl = (to = sentTo) => curlOf(exchange, to)
  // Not enumerable: an entry compares and serializes as plain data.
  return Object.defineProperty(copyOf(exchange), 'toCurl', { value: toCurl }) as JournalEntry
}

/** What curl sets by itself. */
const CONNECTION_HEADERS = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
]

function curlOf({ method, url, requestHeaders, requestBody }: Exchange, origin: string): string {
  const headers = Object.entries(requestHeaders)
    .filter(([name]) => !CONNECTION_HEADERS.includes(name))
    .map(([name, value]) =>
      name === 'authorization'
        ? '-H "Authorization: Bearer $ADOPTION_STORE_API_KEY"'
        : `-H ${quoted(`${name}: ${value}`)}`,
    )
  return [
    'curl -sS',
    ...(method === 'GET' ? [] : method === 'HEAD' ? ['-I'] : [`-X ${method}`]),
    quoted(origin + url),
    ...headers,
    ...(requestBody === null ? [] : [`--data-binary ${quoted(requestBody)}`]),
  ].join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
