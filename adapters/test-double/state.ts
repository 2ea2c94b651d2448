import type { Awaitable } from '../../src/lib/async.js'
import type { Usage } from '../../src/limits/windows-and-bans.js'
import { toNewPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { PetFilter, PetSnapshot, RateLimitSnapshot } from '../../src/ports.js'
import type { KeyRing } from '../../src/protocol/api-keys.js'
import { openStore, type StoreSettings } from '../../src/store.js'
import { memoryRateLimitStore, memoryStorage } from '../stores/memory.js'
import { createRecorder, type RecorderOptions } from '../verdict/log/recorder.js'
import { secretsOf } from '../verdict/log/redact.js'
import type { Recording, Source, Verdict } from '../verdict/verdict.js'
import { createRequests, type RequestsOptions } from './answer-requests.js'
import type { ClockState } from './clock/clock.js'
import { digestOf, usageThatCounts, withoutNetwork } from './digest.js'
import type { Act, Observed } from './events.js'
import type { Fault } from './faults/fault.js'
import { createFaults } from './faults/faults.js'
import { ownSnapshot, type Snapshot } from './snapshot.js'

export interface StateOptions extends RequestsOptions {
  /** Without storage, rate limits and clock, which each state creates. */
  readonly store: StoreSettings
  readonly apiKeys: KeyRing
  readonly journal: Pick<RecorderOptions, 'capacity' | 'characters' | 'origin'> & {
    readonly tokens: readonly string[]
  }
}

export interface Beginning extends Partial<Omit<Snapshot, 'time' | 'faults'>> {
  readonly time: ClockState
  readonly faults?: readonly Fault[] | undefined
}

export type State = ReturnType<typeof createState>

export interface Inspect {
  /** Reads the usage of a key id, without counting. */
  usage(keyId: string): Awaitable<Usage | undefined>
  animals(filter: PetFilter): Awaitable<readonly Pet[]>
}

export type CurrentState = ReturnType<typeof createCurrentState>

/** The state of a double, which a reset or a restore replaces as a whole. */
export function createCurrentState(options: StateOptions, begin: Beginning, verdict: Verdict) {
  const { clock, endDelays } = options.time
  let resets = 0
  let state = create(options, begin, 0)

  return {
    get: () => state,
    reset(beginning: Beginning): void {
      replace(beginning, options.apiKeys)
      state.tell({ do: 'reset' })
    },
    replace,
  }

  /** @throws OptionError, and then nothing has changed */
  function replace(beginning: Beginning, apiKeys: KeyRing): void {
    const old = state
    state = create({ ...options, apiKeys }, beginning, resets + 1)
    resets++
    old.end(old.now())
    for (const notice of options.track.events.activity) notice()
    endDelays()
    clock.restore(beginning.time)
  }

  function create(given: StateOptions, beginning: Beginning, after: number): State {
    return createState(given, beginning, source =>
      verdict.record(after === 0 ? null : `after reset ${after}`, source),
    )
  }
}

/** All mutable state but the clock: a reset replaces it, and a request ends in the state it began in. */
export function createState(
  options: StateOptions,
  begin: Beginning,
  record: (source: Source) => Recording,
) {
  const { clock } = options.time
  let endedAt: number | undefined
  const now = () => endedAt ?? clock.instant()
  const apiKeys = options.apiKeys.copy()
  const { pets = [], nextId = pets.length + 1, idempotencyKeys, usage = [] } = begin
  const storage = memoryStorage({ pets, nextId, idempotencyKeys })
  const rateLimitStore = memoryRateLimitStore()
  rateLimitStore.restore(usage)
  // A copy with one shape: it has all of these names already.
  const store = openStore({ ...options.store, apiKeys, storage, rateLimitStore, clock: now })
  const keyIds = () => apiKeys.list().map(({ id }) => id)
  const isWorld = options.track.world !== null
  const faults = createFaults(keyIds, now, begin.faults, begin.time.now, isWorld)
  // Not spread: in V8, a literal that adds names after a spread has a hidden class of its own.
  const { capacity, characters, origin, tokens } = options.journal
  const journal = createRecorder(
    {
      capacity,
      characters,
      origin,
      clock: now,
      realTime: () => performance.now(),
      keys: secretsOf(apiKeys.keys, tokens),
      pagination: options.store.pagination,
      onOverflow: () => recording.catchUp(),
    },
    begin.journal,
  )
  const recording = record({
    ...{ now, restored: begin.journal, faults: faults.use, take: journal.take },
    ignoresKeys: !options.store.idempotency,
  })
  const requests = createRequests(options, {
    ...{ store, now, faults, journal, tell },
    judge: recording.catchUp,
  })

  const state = {
    store,
    apiKeys,
    now,
    clock,
    faults,
    journal,
    recording,
    inspect: { usage: rateLimitStore.inspect, animals: storage.list } as Inspect,
    handle: requests.handle,
    isBusy: requests.isBusy,
    /** A storage in memory answers synchronously. */
    insert: (pet: NewPet) => storage.insert(toNewPet(pet, options.store.defaultStatus)) as Pet,
    /** Requests in flight are still reported, and wait for no more delays. @param at freezes their time */
    end(at?: number): void {
      endedAt = at
      recording.end()
      requests.end()
    },
    clearRequests(): void {
      recording.clear(journal.received())
      journal.clear()
    },
    dump(name?: string): Promise<Snapshot> {
      faults.keep()
      return dump(name)
    },
    observe,
    tell,
    async digest(): Promise<string> {
      const counted = { now: now(), time: clock.revision(), keys: apiKeys.list() }
      return digestOfState(await dump(), counted)
    },
  }
  return state

  function tell(act: Act): void {
    const { events, world } = options.track
    events.acts++
    for (const listen of events.listeners) listen({ act, world, state })
  }

  function observe(): Observed {
    return {
      ...(storage.dump() as PetSnapshot),
      usage: rateLimitStore.dump() as RateLimitSnapshot,
      faults: faults.list(),
    }
  }

  /** Reads everything before the first await, so that the snapshot has one instant. */
  async function dump(name?: string): Promise<Snapshot> {
    const named = name === undefined ? {} : { name }
    return ownSnapshot({ ...named, ...observe(), time: clock.dump(), journal: journal.dump() })
  }
}

function digestOfState(
  { journal, usage, ...rest }: Snapshot,
  { now, ...others }: { readonly now: number; readonly time: unknown; readonly keys: unknown },
): Promise<string> {
  return digestOf({
    ...rest,
    ...others,
    usage: usageThatCounts(usage, now),
    journal: withoutNetwork(journal),
  })
}
