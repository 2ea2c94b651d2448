import type { Awaitable } from '../../src/lib/async.js'
import { toJson } from '../../src/lib/json.js'
import { retryInstant } from '../../src/lib/retry-after.js'
import { isClockTime } from '../../src/lib/time.js'
import type { Usage } from '../../src/limits/decide.js'
import { isPast, startOfDay } from '../../src/limits/memory.js'
import { toNewPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { PetFilter, PetSnapshot, RateLimitSnapshot, RateLimitStore } from '../../src/ports.js'
import type { ApiHandler, ApiResponse } from '../../src/protocol/api.js'
import type { KeyRing } from '../../src/protocol/api-keys.js'
import { openStore, type Store, type StoreSettings } from '../../src/store.js'
import type { Exchange, FaultKind } from '../exchanges/exchange.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import {
  type Call,
  createRecorder,
  type JournalState,
  type Recorder,
  type RecorderOptions,
} from '../exchanges/recorder.js'
import { memoryRateLimits, memoryStorage } from '../memory.js'
import type { Recording, Source } from '../verdict/verdict.js'
import { type ClockState, createClock, type StateClock } from './clock/clock.js'
import type { Act, TapedState, Track } from './events.js'
import type { DelayFault, Fault } from './faults/fault.js'
import { createFaults, type Faults, type TakenFaults } from './faults/faults.js'
import { injectFault } from './faults/inject-fault.js'
import type { TrickleTime } from './faults/trickle.js'
import type { Snapshot } from './snapshot.js'

export interface StateOptions {
  /** Storage, rate limits and clock are those of the state. */
  readonly store: StoreSettings
  readonly apiKeys: KeyRing
  readonly journal: Pick<RecorderOptions, 'capacity' | 'bytes' | 'origin'>
  readonly track: Track
  readonly watch: Watch | undefined
}

/** Sees every request as it arrives, and may inject faults besides those that are armed. */
export type Watch = (call: Call) => {
  readonly taken: TakenFaults | undefined
  /** @param isFaultless whether no fault was injected */
  answered(answer: ApiResponse, isFaultless: boolean): void
}

/** The initial state; what is missing is empty. */
export interface Beginning extends Partial<Omit<Snapshot, 'clock' | 'faults'>> {
  readonly clock: ClockState
  readonly faults?: readonly Fault[] | undefined
}

/**
 * All mutable state of a double, created and replaced as a whole: a reset misses nothing because it
 * keeps nothing, and a request in flight ends in the state it began in.
 */
export interface State extends TapedState {
  readonly store: Store
  readonly clock: StateClock
  readonly faults: Faults
  readonly journal: Recorder
  readonly recording: Pick<Recording, 'report'>
  readonly inspect: Inspect
  handle(request: ReadRequest): Promise<ApiResponse>
  /** Stores a pet without a request. */
  insert(pet: NewPet): Pet
  /** Ends the delays of requests. */
  endDelays(): void
  /** Ends the delays, and forgets sleeps and timers. @returns how many it forgot */
  drop(): number
  /** Whether a request is being handled that is not waiting for the clock. */
  isBusy(): boolean
  clearRequests(): void
  /** Closes its part of the report since the start. Requests in flight are still added to it. */
  end(): void
  /** @param name to keep it by */
  dump(name?: string): Promise<Snapshot>
  digest(): Promise<string>
  /** Tells those who record what has happened. */
  tell(act: Act): void
}

/** A view of a state, for tools beside the double. */
export interface Inspect {
  /** What is counted for a key id, without counting. */
  usage(keyId: string): Awaitable<Usage | undefined>
  animals(filter: PetFilter): Awaitable<readonly Pet[]>
}

/**
 * @param onEvent called when a request arrives, a response leaves, or a wait begins
 * @param record has the verdict listen
 */
export function createState(
  options: StateOptions,
  begin: Beginning,
  onEvent: () => void,
  record: (source: Source) => Recording,
): State {
  const apiKeys = options.apiKeys.copy()
  const { pets = [], nextId = pets.length + 1, idempotencyKeys, usage = [] } = begin
  const storage = memoryStorage({ pets, nextId, idempotencyKeys })
  const rateLimits: RateLimitStore = memoryRateLimits()
  rateLimits.restore(usage)
  const clock = createClock(begin.clock, onEvent)
  let realTime: StateClock | undefined
  // A copy of one shape: all of these names are in it already.
  const store = openStore({ ...options.store, apiKeys, storage, rateLimits, clock: clock.now })
  const faults = createFaults(() => apiKeys.list().map(({ id }) => id), clock.now, begin.faults)
  const { capacity, bytes, origin } = options.journal
  const journal = createRecorder(
    {
      capacity,
      bytes,
      clock: clock.now,
      keys: apiKeys.keys,
      pagination: options.store.pagination,
      origin,
      onOverflow: judge,
    },
    begin.journal,
  )
  const recording = record({
    now: clock.now,
    restored: begin.journal,
    faults: faults.use,
    catchUp: judge,
  })
  const { track } = options
  const { tape } = track
  let underWay = 0
  let isOver = false

  const state: State = {
    store,
    apiKeys,
    clock,
    faults,
    journal,
    recording,
    inspect: { usage: rateLimits.inspect, animals: storage.list },
    async handle(request) {
      const id = ++tape.sent
      tape.open++
      underWay++
      onEvent()
      try {
        // Whatever a request changes on arrival, it changes at one instant, for a replay to repeat.
        const { answering, end, source, injectedFault, answered } = clock.hold(() =>
          arrive(request, id),
        )
        const response = await answering
        if (tape.pace) await tape.pace.answer(id)
        clock.hold(() => {
          end(response)
          tell({ do: 'answer', id, response, fault: injectedFault(), source })
        })
        answered?.(response)
        // Nobody asks for what a request adds to a period that is over.
        if (isOver) judge()
        if (clock.auto) clock.reach(retryTime(response, clock.now()))
        return response
      } finally {
        underWay--
        tape.open--
        onEvent()
      }
    },
    // A storage in memory answers synchronously.
    insert: pet => storage.insert(toNewPet(pet, options.store.defaultStatus)) as Pet,
    endDelays() {
      clock.endDelays()
      realTime?.endDelays()
    },
    drop() {
      realTime?.drop()
      return clock.drop()
    },
    isBusy: () => underWay > clock.delays(),
    end() {
      recording.end()
      isOver = true
    },
    clearRequests() {
      recording.clear(journal.received())
      journal.clear()
    },
    dump(name) {
      faults.use.keep()
      return dump(name)
    },
    observe: () => ({
      ...(storage.dump() as PetSnapshot),
      usage: rateLimits.dump() as RateLimitSnapshot,
      faults: faults.list(),
    }),
    tell,
    async digest() {
      const now = clock.now()
      const { journal, usage, ...rest } = {
        ...(await dump()),
        clock: clock.revision(),
        keys: apiKeys.list(),
      }
      const counted = usageThatCounts(usage, now)
      return digestOf({ ...rest, usage: counted, journal: withoutNetwork(journal) })
    },
  }
  return state

  function arrive(request: ReadRequest, id: number) {
    const { operation, key, request: identified } = store.identify(request)
    const call = { operation, key: key?.id }
    const { note, end, seen, source } = journal.begin(request, call)
    const watched = options.watch?.(call)
    const taken = both(faults.take(call, request.headers), watched?.taken)
    let fault: FaultKind | null = null
    const answering = taken
      ? injectFault(taken.delay ? delayedStore(id) : store, identified, taken, {
          delay: wait => delayed(wait, taken, id),
          clock,
          timeOf,
          note(kind) {
            fault = kind
            note(kind)
            taken.fire(kind)
          },
          isKnown: key !== undefined,
        })
      : store.handle(identified)
    tell({ do: 'send', id, request, seen: { ...seen, operation, key }, planned: watched?.taken })
    const answered = watched && ((answer: ApiResponse) => watched.answered(answer, !taken))
    return { answering, end, source, injectedFault: () => fault, answered }
  }

  function tell(act: Act): void {
    tape.acts++
    for (const listen of tape.listeners) listen({ act, world: track.world, state })
  }

  /** A delayed request takes effect later than it arrives. */
  function delayedStore(id: number): ApiHandler {
    return {
      ...store,
      handle: request =>
        clock.hold(() => {
          const answering = store.handle(request)
          tell({ do: 'run', id })
          return answering
        }),
    }
  }

  async function delayed(wait: DelayFault, { fault }: TakenFaults, id: number): Promise<void> {
    await (tape.pace ? tape.pace.run(id) : delay(wait))
    if (fault?.kind === 'hang') tell({ do: 'run', id })
  }

  /** Feeds the verdict. A request need not wait for it: it can wait until someone asks. */
  function judge(): void {
    const { arrived, ended } = journal.take()
    recording.arrive(arrived)
    for (const exchange of ended) recording.see(exchange)
  }

  function delay({ ms, real }: Pick<DelayFault, 'ms' | 'real'>): Promise<void> {
    return clockOf(real).delay(ms, real)
  }

  function clockOf(real = false): StateClock {
    if (!real) return clock
    realTime ??= createClock({ frozen: false }, onEvent)
    return realTime
  }

  /** A body that trickles is under way, as its request was before: nothing else waits on the clock. */
  function timeOf(real = false): TrickleTime {
    return {
      now: clockOf(real).now,
      async pause(ms) {
        if (isOver) return
        underWay++
        try {
          await delay({ ms, real })
        } finally {
          underWay--
          onEvent()
        }
      },
    }
  }

  /** One instant: everything is read before the first await. */
  async function dump(name?: string): Promise<Snapshot> {
    const [animals, usage] = [storage.dump(), rateLimits.dump()]
    const rest = {
      clock: clock.dump(),
      // Not in depth: a body is the test's own object. A restore checks faults anyway.
      faults: Object.freeze(faults.list().map(fault => Object.freeze(fault))),
      journal: journal.dump(),
    }
    const named = name === undefined ? {} : { name }
    const used = (await usage).map(inFieldOrder)
    const snapshot: Snapshot = freeze({ ...named, ...(await animals), usage: used, ...rest })
    OWN.add(snapshot)
    return snapshot
  }
}

/** Snapshots that nobody can have changed. */
const OWN = new WeakSet<Snapshot>()

/** Whether it comes from a double of this process as it is, so that it need not be checked. */
export function isOwnSnapshot(snapshot: Snapshot): boolean {
  return OWN.has(snapshot)
}

/** With everything in it. What is frozen already is so in depth: it is shared with other snapshots. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

function both(
  armed: TakenFaults | undefined,
  given: TakenFaults | undefined,
): TakenFaults | undefined {
  if (!armed || !given) return armed ?? given
  return {
    delay: given.delay ?? armed.delay,
    fault: given.fault ?? armed.fault,
    fire(kind) {
      const isGiven = (kind === 'delay' ? given.delay : given.fault) !== undefined
      const one = isGiven ? given : armed
      one.fire(kind)
    },
  }
}

/** Without what the next request may forget, in an order of its own, whatever the address of a caller. */
export function usageThatCounts(usage: RateLimitSnapshot, now: number): readonly unknown[] {
  const start = startOfDay(now)
  return usage
    .filter(([, counts]) => !isPast(counts, start))
    .map(([partition, counts]) => toJson([partition.replace(/^addr:.*/s, 'addr:'), counts]))
    .sort()
}

/** Connections and most headers depend on the network, and on the door that a request came through. */
function withoutNetwork({ connections: _, exchanges, ...journal }: JournalState) {
  return {
    ...journal,
    exchanges: exchanges.map(withoutConnection),
  }
}

function withoutConnection({ requestHeaders, ...exchange }: Exchange) {
  const { connection: _, sequential: __, overlap: ___, ...rest } = exchange
  return { ...rest, requestHeaders: OWN_HEADERS.map(name => requestHeaders[name] ?? null) }
}

/** Headers that can change the response; clients add others by themselves, such as user-agent. */
const OWN_HEADERS = ['content-type', 'origin']

/** As the schema of a snapshot writes it. */
function inFieldOrder([partition, usage]: RateLimitSnapshot[number]): RateLimitSnapshot[number] {
  const { lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel } = usage
  return [partition, { lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel }]
}

/** When the answer allows the next attempt. */
function retryTime({ headers }: ApiResponse, now: number): number {
  const instant = retryInstant(headers['Retry-After'], now) ?? now
  return isClockTime.accepts(instant) ? instant : now
}

/** SHA-256 in hex, independent of the order of fields. */
export async function digestOf(value: unknown): Promise<string> {
  const hash = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(toJson(sorted(value))),
  )
  return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]))
}
