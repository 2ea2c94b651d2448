import { invalidRequest } from '../../src/api-error.js'
import { type Awaitable, chain } from '../../src/lib/async.js'
import {
  check,
  isOneOf,
  isText,
  OptionError,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../src/lib/check-options.js'
import type { Pets } from '../../src/pets/operations.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { Clock } from '../../src/ports.js'
import type { ApiKey } from '../../src/protocol/api-keys.js'
import type { ApiRequest, ApiResponse, Connection } from '../../src/protocol/api-request.js'
import type { ListenOptions } from '../http/listen.js'
import { verdictError } from '../verdict/annotations.js'
import { ASSERT_OPTIONS, type AssertPoliteOptions } from '../verdict/assert-options.js'
import { createConnections } from '../verdict/log/callers.js'
import { type Har, harOf } from '../verdict/log/har.js'
import { withBodyRead } from '../verdict/log/read-request.js'
import type { JournalEntry } from '../verdict/log/recorder.js'
import { type Report, reportText } from '../verdict/report.js'
import { type Above, createVerdict, type Verdict } from '../verdict/verdict.js'
import { readAnimals } from './animals.js'
import type { Watch } from './answer-requests.js'
import { runOn } from './auto-advance.js'
import { ControlledClock, type VirtualClock } from './clock/clock.js'
import { readDoubleOptions, type TestDoubleOptions } from './double-options.js'
import { type Act, createEventLog, type EventLog, type ObservableState } from './events.js'
import { type ExchangeFilter, matcher } from './exchange-filter.js'
import type { Faults } from './faults/faults.js'
import { createFetch } from './fetch.js'
import { type Recording as StepRecording, startRecording } from './recording/record.js'
import {
  createServers,
  type DoubleServer,
  type Listener,
  type ServedHandler,
  toListener,
} from './servers.js'
import { checkSnapshot, type Snapshot } from './snapshot.js'
import { type CurrentState, createCurrentState, type Inspect, type State } from './state.js'

/** A store whose time, state and failures a test controls, and which judges its client. */
export interface TestDouble extends ServedHandler, AsyncDisposable {
  /** The base URL that `fetch` stands in for, without a slash at the end. */
  readonly baseUrl: string
  /** Tracks a connection, for the journal and the verdict. */
  connect(): Connection
  /** Stands in for the global `fetch`, bound to `baseUrl`, without a socket. */
  readonly fetch: typeof fetch
  /** Also serves the control tree; for `http.createServer`, `toNodeHandler`, `toFetchHandler`. */
  readonly handler: Listener
  /** Also serves the double on a socket, by default on a free port. */
  listen(options?: ListenOptions): Promise<DoubleServer>
  readonly clock: VirtualClock
  /**
   * Runs code that sleeps on the clock: whenever nothing else can happen, the clock advances to the
   * end of the next sleep, timer or delay.
   */
  run<T>(work: () => Awaitable<T>): Promise<T>
  /** Faults to inject into the next requests that match. */
  readonly faults: Pick<Faults, 'arm' | 'list' | 'clear'>
  /** Direct calls, without key, limits, faults or journal. */
  readonly pets: Pets
  /** Creates animals, all or none. @throws ApiError `invalid_request` */
  seed(animals: readonly NewPet[]): Promise<readonly Pet[]>
  /** Makes a key valid until the next reset. @throws OptionError */
  addKey(apiKey: string, record: ApiKey): void
  /** Restores the initial state in one step. A request in flight ends in the state it began in. */
  reset(): void
  /** Returns all but the keys, as plain data; a name keeps it for `restore(name)`. */
  snapshot(name?: string): Promise<Snapshot>
  /**
   * Restores a snapshot as a whole or, when it throws, not at all. The keys stay as they are.
   * @throws ApiError `invalid_request`, OptionError
   */
  restore(snapshot: Snapshot | string): Promise<void>
  /** SHA-256 of all mutable state: equal for doubles with equal state. */
  digest(): Promise<string>
  /** Exchanges in the order of arrival. @throws OptionError */
  requests(filter?: ExchangeFilter): readonly JournalEntry[]
  /** Exchanges as HAR 1.2, which the developer tools of browsers open. @throws OptionError */
  har(filter?: ExchangeFilter): Har
  /** Number of exchanges that the journal has dropped. */
  readonly dropped: number
  /** Empties the journal; requests keep counting up. */
  clearRequests(): void
  /**
   * Records every change from now on, in its worlds too, for a file that can be replayed.
   * @throws Error while a request is in flight, and once there are worlds
   */
  record(): Promise<StepRecording>
  /**
   * Findings about the client since the last reset or `clearRequests`; since the start: in all
   * worlds, and before resets as well. @default { since: 'reset' }
   */
  report(options?: ReportOptions): Report
  /**
   * Fails a test whose client was not polite.
   * @throws VerdictError when the report is not ok, or when nothing was sent
   */
  assertPolite(options?: ReportOptions & AssertPoliteOptions): void
  readonly inspect: Inspect
  /** Closes its servers, and ends delayed and hanging calls. */
  close(): Promise<void>
}

export const REPORT_OPTIONS = {
  /** The beginning of the report. @default 'reset' */
  since: withDefault(isOneOf(['reset', 'start']), 'reset'),
}
/**
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const double = createTestDouble()
 * console.log(double.report({ since: 'start' }).requestCount) // prints 0
 */
export interface ReportOptions extends OptionsOf<typeof REPORT_OPTIONS> {}

const ASSERT_REPORT_OPTIONS = { ...REPORT_OPTIONS, ...ASSERT_OPTIONS }

export interface JudgedDouble extends TestDouble {
  readonly clock: ControlledClock
  readonly verdict: Verdict
  readonly events: EventLog
  isBusy(): boolean
  tell(act: Act): void
  state(): ObservableState
  /** Resets, and freezes the clock at this instant, in ms. */
  restart(now: number): void
  unref(): void
}

/**
 * Composes a double from its parts. A request passes them in this order:
 * 1. `fetch.ts` in process, `servers.ts` on a socket, behind the control tree if there is one
 * 2. `state.ts`: the state at its arrival, which answers it even if a reset begins another one
 * 3. `answer-requests.ts`: enters it in the journal, takes its faults, and waits for its delay
 * 4. `faults/inject-fault.ts`: the answer of the store, as the faults leave it
 * 5. the journal and, once asked for a report, the verdict; for recordings, the log of `events.ts`
 * @param around adds to what its servers serve, such as a control tree
 * @param above the verdict on the double whose world this is
 * @param source the time that its clock follows while it runs
 */
export function createDouble(
  options: TestDoubleOptions,
  around: (double: JudgedDouble) => ServedHandler = double => double,
  above?: Above & Partial<Pick<JudgedDouble, 'events'>>,
  watch?: Watch,
  source: Clock = Date.now,
): JudgedDouble {
  const { state: given, begin, baseUrl, allow, clients, callSites } = readDoubleOptions(options)
  const { store, apiKeys, journal } = given
  const verdict = createVerdict(allow, above, clients)
  const events = above?.events ?? createEventLog()
  const onWait = () => {
    for (const notice of events.activity) notice()
  }
  const onChange = () => state().tell({ do: 'clock' })
  const clock = new ControlledClock(begin.time, { onWait, onChange }, source)
  let realTime: ControlledClock | undefined
  const real = () => (realTime ??= new ControlledClock({ frozen: false }, { onWait }))
  const endDelays = () => {
    clock.endDelays()
    realTime?.endDelays()
  }
  const track = { events, world: above?.world ?? null }
  const current = createCurrentState(
    { store, apiKeys, journal, time: { clock, real, endDelays }, track, watch },
    begin,
    verdict,
  )
  const state = current.get
  const connect = createConnections()
  const isWaiting = () => clock.delays() + (realTime?.delays() ?? 0) > 0
  const inProcess = createFetch(() => state().handle, connect, baseUrl, isWaiting, callSites)
  const servers = createServers(() => double.handler, connect, events)
  // Not spread below: in V8, a name after a spread gives each literal a hidden class of its own.
  const { snapshot, restore } = snapshotsOf(current)
  const { report, assertPolite } = reportsOf(state, verdict)

  const own: Omit<JudgedDouble, 'dropped' | 'handler'> = {
    verdict,
    events,
    isBusy: () => state().isBusy(),
    tell: act => state().tell(act),
    state,
    restart: now => current.reset({ ...begin, time: { frozen: true, now } }),
    baseUrl,
    basePath: store.basePath,
    maxBodyBytes: store.maxBodyBytes,
    handle: request => handle(request, state()),
    connect,
    fetch: inProcess.fetch,
    unref: inProcess.unref,
    clock,
    run: work => runOn(own, work),
    faults: faultsOf(state),
    pets: petsOf(state),
    async seed(animals) {
      return readAnimals(animals, invalidRequest).map((pet, at) => {
        const stored = state().insert(pet)
        state().tell({ do: 'create', pet: animals[at] as NewPet })
        return stored
      })
    },
    addKey(key, record) {
      state().apiKeys.add(key, record)
      state().tell({ do: 'key' })
    },
    reset() {
      current.reset(begin)
      inProcess.endHanging()
    },
    snapshot,
    restore,
    digest: () => state().digest(),
    requests: filter => state().journal.list().filter(matcher(filter)),
    har: filter => harOf(state().journal.sources(matcher(filter))),
    clearRequests() {
      state().clearRequests()
      state().tell({ do: 'clear-requests' })
    },
    record: () => startRecording({ events, options, state, snapshot: () => state().dump() }),
    endDelays,
    report,
    assertPolite,
    inspect: {
      usage: keyId => state().inspect.usage(keyId),
      animals: filter => state().inspect.animals(filter),
    },
    listen: servers.listen,
    close,
    [Symbol.asyncDispose]: close,
  }
  const double = Object.assign(new Served(state), own)
  double.handler = toListener(around(double))
  return double

  async function close(): Promise<void> {
    state().end()
    double.handler.endDelays()
    inProcess.close()
    await servers.close()
  }
}

/** A class for the same reason as `ControlledClock`: accessors of literals hold memory. */
class Served {
  readonly #state: () => State
  handler!: Listener

  constructor(state: () => State) {
    this.#state = state
  }

  get dropped(): number {
    return this.#state().journal.dropped()
  }
}

function faultsOf(state: () => State): TestDouble['faults'] {
  return {
    arm(fault) {
      const armed = state().faults.arm(fault)
      state().tell({ do: 'arm', fault })
      return armed
    },
    list: () => state().faults.list(),
    clear(fault) {
      state().faults.clear(fault)
      state().tell({ do: 'clear-faults', ...(fault && { fault }) })
    },
  }
}

function petsOf(state: () => State): Pets {
  return {
    createPet(pet, options) {
      const isDropped = options?.signal?.aborted === true
      const creating = state().store.createPet(pet, options)
      if (!isDropped) state().tell({ do: 'create', pet })
      return creating
    },
    listPets: query => state().store.listPets(query),
    getPet: id => state().store.getPet(id),
  }
}

function snapshotsOf(current: CurrentState): Pick<TestDouble, 'snapshot' | 'restore'> {
  const snapshots = new Map<string, Snapshot>()
  return {
    async snapshot(name) {
      if (name !== undefined) check('name', name, isText)
      const snapshot = await current.get().dump(name)
      if (name !== undefined) snapshots.set(name, snapshot)
      return snapshot
    },
    async restore(given) {
      const snapshot = typeof given === 'string' ? snapshots.get(given) : given
      if (!snapshot) {
        const got = given ? `'${given}'` : 'nothing'
        const expected = 'a snapshot or the name of one'
        throw new OptionError({ option: 'snapshot', expected, got })
      }
      const checked = checkSnapshot(snapshot)
      current.replace(checked, current.get().apiKeys)
      current.get().tell({ do: 'restore', snapshot: checked })
    },
  }
}

function reportsOf(
  state: () => State,
  verdict: Verdict,
): Pick<TestDouble, 'report' | 'assertPolite'> {
  return {
    report: given => reportSince(settingsOf(REPORT_OPTIONS, given).since),
    assertPolite(given) {
      const { since, notes } = settingsOf(ASSERT_REPORT_OPTIONS, given)
      const found = reportSince(since)
      const isClean = !notes || found.notes.every(note => note.allowed)
      if (!found.ok || !isClean || found.requestCount === 0) {
        throw verdictError(found, reportText(found, { withRequests: true }))
      }
    },
  }

  function reportSince(since: 'reset' | 'start'): Report {
    if (since === 'start') return verdict.report()
    const { recording, journal } = state()
    return { ...recording.report(), dropped: journal.dropped() }
  }
}

/** Reads the whole body, which the journal compares even if the headers get the request refused. */
function handle(request: ApiRequest, state: State): Awaitable<ApiResponse> {
  const { store } = state
  // The host's app reads the body itself.
  const isPassedOn = request.passesOn && !store.identify(request).request.head?.route
  const own = isPassedOn ? { ...request, body: undefined } : withBodyRead(request)
  // A request ends in the state that it began in, however long its body takes to arrive.
  return chain(own, state.handle)
}
