import { invalidRequest } from '../../src/errors.js'
import { type Awaitable, chain, lazy } from '../../src/lib/async.js'
import {
  check,
  isBoolean,
  isObject,
  isOneOf,
  isText,
  OptionError,
  optional,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import type { CreateOptions, Pets } from '../../src/pets/operations.js'
import { describeIssues, type NewPet, newPetSchema, type Pet } from '../../src/pets/schema.js'
import type { ApiHandler, ApiRequest, ApiResponse, Connection } from '../../src/protocol/api.js'
import type { ApiKey, KeyRing } from '../../src/protocol/api-keys.js'
import { createConnections } from '../exchanges/callers.js'
import { type Har, harOf } from '../exchanges/har.js'
import { type ReadRequest, withBodyRead } from '../exchanges/read-request.js'
import type { JournalEntry } from '../exchanges/recorder.js'
import { isApiRequest } from '../http/api-request.js'
import type { HttpServer, ListenOptions } from '../http/index.js'
import { type Report, VerdictError } from '../verdict/report.js'
import {
  type Above,
  createVerdict,
  type Recording,
  type Source,
  type Verdict,
} from '../verdict/verdict.js'
import { CurrentClock, type VirtualClock } from './clock/virtual-clock.js'
import { type Act, createTape, type Tape, type TapedState } from './events.js'
import type { Faults } from './faults/faults.js'
import { createFetch } from './fetch.js'
import { type ExchangeFilter, matcher } from './filter.js'
import { readDoubleOptions, type TestDoubleOptions } from './options.js'
import { type Recording as StepRecording, startRecording } from './recording/record.js'
import { type PassingTime, runOn } from './run.js'
import { checkSnapshot, type Snapshot } from './snapshot.js'
import {
  type Beginning,
  createState,
  type Inspect,
  isOwnSnapshot,
  type State,
  type Watch,
} from './state.js'

/** What the servers of a double serve. */
export interface ServedHandler extends ApiHandler {
  /** Ends the delays of requests, as if their time had passed. */
  endDelays(): void
}

/**
 * A store whose time, state and failures a test controls, and which reports what its client did
 * wrong.
 */
export interface TestDouble extends ServedHandler, AsyncDisposable {
  readonly baseUrl: string
  /** Follows a connection, for the journal and the verdict. */
  connect(): Connection
  /** Stands in for the global `fetch`, bound to `baseUrl`, without a socket. */
  readonly fetch: typeof fetch
  /** What its servers serve, the control tree included, for servers of your own. */
  readonly handler: ServedHandler
  /** Also serves it on a socket, by default on a free port. */
  listen(options?: ListenOptions): Promise<HttpServer>
  readonly clock: VirtualClock
  /**
   * Runs code that sleeps on the clock: whenever nothing else can happen, the clock goes to the end
   * of the next sleep, timer or delay.
   *
   * @returns what `work` returns
   */
  run<T>(work: () => Awaitable<T>): Promise<T>
  readonly faults: Pick<Faults, 'arm' | 'list' | 'clear'>
  /** Direct calls: no key, no limits, no faults, no journal. */
  readonly pets: Pets
  /**
   * Creates animals, all or none.
   *
   * @throws ApiError `invalid_request`
   */
  seed(animals: readonly NewPet[]): Promise<readonly Pet[]>
  /**
   * Makes a key valid until the next reset.
   *
   * @throws OptionError
   */
  addKey(key: string, record: ApiKey): void
  /** Restores the initial state in one step. A request in flight ends in the state it began in. */
  reset(): void
  /** Everything but the keys, as plain data; with a name, it is also kept for `restore(name)`. */
  snapshot(name?: string): Promise<Snapshot>
  /**
   * Restores everything or, when it throws, nothing. The keys stay as they are.
   *
   * @throws ApiError `invalid_request`, OptionError
   */
  restore(snapshot: Snapshot | string): Promise<void>
  /** SHA-256 of all mutable state: equal for doubles with equal state. */
  digest(): Promise<string>
  /**
   * Requests with their responses, in the order of arrival.
   *
   * @throws OptionError
   */
  requests(filter?: ExchangeFilter): readonly JournalEntry[]
  /**
   * The same as an HTTP archive (HAR 1.2), which the developer tools of browsers open.
   *
   * @throws OptionError
   */
  har(filter?: ExchangeFilter): Har
  /** How many exchanges the journal has dropped. */
  readonly dropped: number
  clearRequests(): void
  /**
   * Records everything that changes it from now on, in its worlds too, for a file that can be replayed.
   *
   * @throws Error while a request is in flight, and once there are worlds
   */
  record(): Promise<StepRecording>
  /**
   * What the client did wrong since the last reset or `clearRequests`; since the start: in all worlds,
   * and before resets as well.
   *
   * @default { since: 'reset' }
   */
  report(options?: ReportOptions): Report
  /**
   * Ends a test that the client should pass politely.
   *
   * @throws VerdictError when the report is not ok, or when nothing was sent
   */
  assertPolite(options?: AssertPoliteOptions): void
  /** What a console shows besides requests. */
  readonly inspect: Inspect
  /** Closes its servers, and ends delayed and hanging calls. */
  close(): Promise<void>
}

export interface ReportOptions {
  readonly since?: 'reset' | 'start' | undefined
}

export interface AssertPoliteOptions extends ReportOptions {
  /** Whether a note of a rule that `allow` does not list fails, too. @default false */
  readonly notes?: boolean | undefined
}

/** A double that worlds can be made of. */
export interface JudgedDouble extends TestDouble {
  readonly verdict: Verdict
  readonly tape: Tape
  /** What makes its time pass. */
  readonly time: Omit<PassingTime, 'stuck'> & {
    /** Ms until the next wait ends; undefined when nothing waits. */
    untilNext(): number | undefined
  }
  /** Tells those who record what has happened. */
  tell(act: Act): void
  /** The current state, and its clock, for a replay. */
  state(): Pick<State, 'clock'> & TapedState
  /** A reset after which the clock stands still at this instant, ms since the Unix epoch. */
  restart(now: number): void
}

/**
 * @param around adds to what its servers serve, such as a control tree
 * @param above the verdict on the double whose world this is
 * @param watch sees every request
 */
export function createDouble(
  options: TestDoubleOptions,
  around: (double: JudgedDouble) => ServedHandler = double => double,
  above?: Above & Partial<Pick<JudgedDouble, 'tape'>>,
  watch?: Watch,
): JudgedDouble {
  const { state: given, begin, baseUrl, allow, clients } = readDoubleOptions(options)
  const verdict = createVerdict(allow, above, clients)
  const tape = above?.tape ?? createTape()
  const track = { tape, world: above?.world ?? null }
  const { store, apiKeys, journal } = given
  const stateOptions = { store, apiKeys, journal, track, watch }
  const snapshots = new Map<string, Snapshot>()
  const servers = new Set<HttpServer>()
  const listeners = new Set<() => void>()
  const onEvent = () => {
    for (const listener of listeners) listener()
  }
  let resets = 0
  let state = createState(stateOptions, begin, onEvent, record)
  const connect = createConnections()
  const inProcess = createFetch(() => beginRequest(), connect, baseUrl)
  let closed = false
  /** Sleeps and timers that a reset or restore has forgotten. */
  let forgotten = 0
  const time: JudgedDouble['time'] = {
    listeners,
    isBusy: () => state.isBusy(),
    canPass: () => state.clock.next() !== undefined,
    untilNext() {
      const next = state.clock.next()
      return next === undefined ? undefined : Math.max(0, next - state.clock.now())
    },
    pass() {
      onEvent()
      state.clock.reach(state.clock.next() ?? state.clock.now())
    },
  }

  const own: Omit<JudgedDouble, keyof Accessors> = {
    verdict,
    tape,
    time,
    tell: act => state.tell(act),
    state: () => state,
    restart: now => start({ ...begin, clock: { frozen: true, now } }),
    baseUrl,
    basePath: state.store.basePath,
    maxBodyBytes: state.store.maxBodyBytes,
    handle,
    connect,
    fetch: inProcess.fetch,
    clock: new CurrentClock(
      () => state.clock,
      () => state.tell({ do: 'clock' }),
    ),
    run: work => runOn({ ...time, stuck: stuckFromNow() }, work),
    faults: {
      arm: fault =>
        state.clock.hold(() => {
          const armed = state.faults.arm(fault)
          state.tell({ do: 'arm', fault })
          return armed
        }),
      list: () => state.faults.list(),
      clear() {
        state.faults.clear()
        state.tell({ do: 'clear-faults' })
      },
    },
    pets: {
      createPet,
      listPets: query => state.store.listPets(query),
      getPet: id => state.store.getPet(id),
    },
    async seed(animals) {
      return readAnimals(animals).map((pet, at) => {
        const stored = state.insert(pet)
        state.tell({ do: 'create', pet: animals[at] as NewPet })
        return stored
      })
    },
    addKey(key, record) {
      state.apiKeys.add(key, record)
      state.tell({ do: 'key', key })
    },
    reset: () => start(begin),
    async snapshot(name) {
      if (name !== undefined) check('name', name, isText)
      const snapshot = await state.dump(name)
      if (name !== undefined) snapshots.set(name, snapshot)
      return snapshot
    },
    async restore(given) {
      const snapshot = typeof given === 'string' ? snapshots.get(given) : given
      if (!snapshot) {
        const got = given ? `'${given}'` : 'nothing'
        const expected = 'a snapshot or the name of one'
        const message = `Expected ${expected}, got ${got}`
        throw new OptionError({ option: 'snapshot', expected, got }, message)
      }
      // A recording holds every snapshot in one form, whatever double it comes from.
      const isShared = isOwnSnapshot(snapshot) && tape.listeners.size === 0
      const checked = isShared ? snapshot : checkSnapshot(snapshot)
      replace(checked, state.apiKeys)
      state.tell({ do: 'restore', snapshot: checked })
    },
    digest: () => state.digest(),
    requests: filter => state.journal.list().filter(matcher(filter)),
    har: filter => harOf(state.journal.sources(matcher(filter))),
    clearRequests() {
      state.clearRequests()
      state.tell({ do: 'clear-requests' })
    },
    record: () =>
      startRecording({ tape, options, state: () => state, snapshot: () => state.dump() }),
    endDelays: () => state.endDelays(),
    report(reportOptions) {
      const { since } = readOptions(reportOptions, { since: 'reset' } as const, REPORT_RULES)
      if (since === 'start') return verdict.report()
      return { ...state.recording.report(), dropped: state.journal.dropped() }
    },
    assertPolite(assertOptions = {}) {
      check('options', assertOptions, isObject)
      const { notes, ...reportOptions } = assertOptions
      check('notes', notes ?? false, isBoolean)
      const found = own.report(reportOptions)
      const isClean = notes !== true || found.notes.every(note => note.allowed)
      if (!found.ok || !isClean || found.requests === 0) throw new VerdictError(found)
    },
    inspect: {
      usage: keyId => state.inspect.usage(keyId),
      animals: filter => state.inspect.animals(filter),
    },
    listen: listenOptions => serve(listenOptions),
    close,
    [Symbol.asyncDispose]: close,
  }
  const accessors = new Accessors(() => ({ handler, dropped: state.journal.dropped() }))
  const double: JudgedDouble = Object.assign(accessors, own)
  const handler = around(double)
  return double

  /** At once, unless the schemas are still to be loaded. */
  function createPet(pet: NewPet, options?: CreateOptions): Promise<Pet> {
    const isDropped = options?.signal?.aborted === true
    const creating = state.store.createPet(pet, options)
    if (!isDropped) state.tell({ do: 'create', pet })
    return creating
  }

  function record(source: Source, after = resets): Recording {
    return verdict.record(after === 0 ? null : `after reset ${after}`, source)
  }

  function start(beginning: Beginning): void {
    replace(beginning, stateOptions.apiKeys)
    state.tell({ do: 'reset' })
  }

  /** Replaces the whole state, and ends what waits on the old clock. */
  function replace(beginning: Beginning, apiKeys: KeyRing): void {
    const old = state
    // It may throw, and then nothing has changed.
    state = createState({ ...stateOptions, apiKeys }, beginning, onEvent, source =>
      record(source, resets + 1),
    )
    resets++
    old.end()
    onEvent()
    forgotten += old.drop()
  }

  /** What happens from now on and leaves the work waiting forever. */
  function stuckFromNow(): PassingTime['stuck'] {
    const before = { forgotten, hanging: inProcess.hanging() }
    return () => {
      if (forgotten > before.forgotten) {
        return 'a reset or restore has dropped a sleep or timer of its work'
      }
      if (inProcess.hanging() === before.hanging) return undefined
      return 'a request hangs because of a fault, and the call has no `signal` to end it'
    }
  }

  async function serve(listenOptions?: ListenOptions): Promise<HttpServer> {
    check('options', listenOptions, optional(isObject))
    let closing = false
    const { listen } = await door()
    const server = await listen(
      {
        basePath: handler.basePath,
        maxBodyBytes: handler.maxBodyBytes,
        connect,
        handle(request) {
          const answer = handler.handle(afterBody(request, endDelaysWhileClosing))
          endDelaysWhileClosing()
          return chain(answer, response => {
            // A body that trickles begins to wait when it is sent.
            if (response.stream) setImmediate(endDelaysWhileClosing)
            return response
          })
        },
      },
      { port: 0, ...listenOptions },
    )
    /** Nobody may be left to advance the clock. */
    function endDelaysWhileClosing(): void {
      if (closing) handler.endDelays()
    }
    const closeServer = () => {
      closing = true
      servers.delete(closable)
      handler.endDelays()
      return server.close()
    }
    const closable = { ...server, close: closeServer, [Symbol.asyncDispose]: closeServer }
    servers.add(closable)
    return closable
  }

  /** The journal compares bodies, even of requests that are refused by their headers. */
  function handle(request: ApiRequest): Awaitable<ApiResponse> {
    if (!isApiRequest(request)) return state.store.handle(request)
    // That app reads the body itself.
    const isPassedOn = request.passesOn && !state.store.identify(request).request.head?.route
    const own = isPassedOn ? { ...request, body: undefined } : withBodyRead(request)
    return chain(own, beginRequest())
  }

  /** A request ends in the state that it began in, however long its body takes to arrive. */
  function beginRequest(): (request: ReadRequest) => Promise<ApiResponse> {
    const begun = state
    return request => {
      const answer = begun.handle(request)
      // Once closed, nobody advances the clock for delayed requests.
      if (closed || begun !== state) begun.endDelays()
      return answer
    }
  }

  async function close(): Promise<void> {
    closed = true
    state.end()
    handler.endDelays()
    inProcess.close()
    await Promise.all([...servers].map(server => server.close()))
  }
}

/** A class, for the reason that `CurrentClock` is one. */
class Accessors {
  readonly #read: () => Pick<TestDouble, 'handler' | 'dropped'>

  constructor(read: () => Pick<TestDouble, 'handler' | 'dropped'>) {
    this.#read = read
  }

  get handler(): ServedHandler {
    return this.#read().handler
  }

  get dropped(): number {
    return this.#read().dropped
  }
}

/** Calls back once a body that is still to be read has begun its request. */
function afterBody(request: ApiRequest, call: () => void): ApiRequest {
  const { body } = request
  if (typeof body !== 'function') return request
  const read = async () => {
    const bytes = await body()
    setImmediate(call)
    return bytes
  }
  return { ...request, body: read }
}

/** Browsers have no sockets: a bundle for them has nothing in place of the door. */
const door = lazy(async () => {
  const http: Partial<typeof import('../http/index.js')> = await import('../http/index.js')
  if (http.listen) return { listen: http.listen }
  throw new OptionError(
    { option: 'listen', expected: 'called in Node' },
    'listen needs Node; use `fetch` of the double, or MSW, in a browser',
  )
})

const REPORT_RULES: Rules<ReportOptions> = { since: isOneOf(['reset', 'start']) }

/** @throws ApiError `invalid_request` */
function readAnimals(animals: readonly NewPet[]): readonly NewPet[] {
  if (!Array.isArray(animals)) throw invalidRequest('The animals must be an array.')
  return Array.from(animals, (animal, at) => {
    const parsed = newPetSchema.safeParse(animal)
    if (parsed.success) return parsed.data
    const unknown = unknownField(animal, Object.keys(newPetSchema.shape))
    const hint = unknown === undefined ? '' : `; unknown field \`${unknown.slice(0, 40)}\``
    throw invalidRequest(`Animal ${at + 1}: ${describeIssues(parsed.error, animal, 'it')}${hint}`)
  })
}

/** Probably what should have been the field that is missing. */
function unknownField(animal: unknown, known: readonly string[]): string | undefined {
  if (!isObject.accepts(animal)) return undefined
  return Object.keys(animal as object).find(name => !known.includes(name))
}
