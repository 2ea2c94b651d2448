import type { Awaitable } from '../../src/lib/async.js'
import type { Usage } from '../../src/limits/windows-and-bans.js'
import { toNewPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { PetFilter, PetSnapshot, RateLimitSnapshot } from '../../src/ports.js'
import type { KeyRing } from '../../src/protocol/api-keys.js'
import { openStore, type StoreSettings } from '../../src/store.js'
import { memoryRateLimitStore, memoryStorage } from '../stores/memory.js'
import { createCallers } from '../verdict/callers.js'
import { createRecorder, type RecorderOptions } from '../verdict/log/recorder.js'
import { secretsOf } from '../verdict/log/redact.js'
import type { Recording, Source } from '../verdict/verdict.js'
import type { ClockState } from './clock/clock.js'
import { digestOf, usageThatCounts, withoutNetwork } from './digest.js'
import type { Act, Observed } from './events.js'
import type { Fault } from './faults/fault.js'
import { createFaults } from './faults/faults.js'
import { createRequests, type RequestsOptions } from './requests.js'
import { ownSnapshot, type Snapshot } from './snapshot.js'

export interface StateOptions extends RequestsOptions {
  /** Storage, rate limits and clock are those of the state. */
  readonly store: StoreSettings
  readonly apiKeys: KeyRing
  readonly journal: Pick<RecorderOptions, 'capacity' | 'characters' | 'origin'> & {
    /** As secret as keys. */
    readonly tokens: readonly string[]
  }
}

/** The initial state; what is missing is empty. */
export interface Beginning extends Partial<Omit<Snapshot, 'clock' | 'faults'>> {
  readonly clock: ClockState
  readonly faults?: readonly Fault[] | undefined
}

export type State = ReturnType<typeof createState>

/** A view of a state, for tools beside the double. */
export interface Inspect {
  /** What is counted for a key id, without counting. */
  usage(keyId: string): Awaitable<Usage | undefined>
  animals(filter: PetFilter): Awaitable<readonly Pet[]>
}

/**
 * All mutable state of a double but its clock, created and replaced as a whole: a reset misses nothing
 * because it keeps nothing, and a request in flight ends in the state it began in.
 *
 * @param record has the verdict listen
 */
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
  // A copy of one shape: all of these names are in it already.
  const store = openStore({ ...options.store, apiKeys, storage, rateLimitStore, clock: now })
  const keyIds = () => apiKeys.list().map(({ id }) => id)
  const isWorld = options.track.world !== null
  const faults = createFaults(keyIds, now, begin.faults, begin.clock.now, isWorld)
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
      callers: createCallers(begin.journal?.connections),
      onOverflow: judge,
    },
    begin.journal,
  )
  const recording = record({
    ...{ now, restored: begin.journal, faults: faults.use, catchUp: judge },
    ignoresKeys: !options.store.idempotency,
  })
  const requests = createRequests(options, { store, now, faults, journal, tell, judge })

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
    /** Stores a pet without a request. A storage in memory answers synchronously. */
    insert: (pet: NewPet) => storage.insert(toNewPet(pet, options.store.defaultStatus)) as Pet,
    /**
     * Closes its part of the report since the start. Requests in flight are still added to it, and wait
     * for no more delays.
     *
     * @param at where time stands still for them
     */
    end(at?: number): void {
      endedAt = at
      recording.end()
      requests.end()
    },
    clearRequests(): void {
      recording.clear(journal.received())
      journal.clear()
    },
    /** @param name to keep it by */
    dump(name?: string): Promise<Snapshot> {
      faults.keep()
      return dump(name)
    },
    observe,
    tell,
    async digest(): Promise<string> {
      const counted = { now: now(), clock: clock.revision(), keys: apiKeys.list() }
      return digestOfState(await dump(), counted)
    },
  }
  return state

  /** Tells those who record what has happened. */
  function tell(act: Act): void {
    const { events, world } = options.track
    events.acts++
    for (const listen of events.listeners) listen({ act, world, state })
  }

  /** Feeds the verdict. A request need not wait for it: it can wait until someone asks. */
  function judge(): void {
    const { arrived, ended } = journal.take()
    recording.arrive(arrived)
    for (const exchange of ended) recording.see(exchange)
  }

  function observe(): Observed {
    return {
      ...(storage.dump() as PetSnapshot),
      usage: rateLimitStore.dump() as RateLimitSnapshot,
      faults: faults.list(),
    }
  }

  /** One instant: everything is read before the first await. */
  async function dump(name?: string): Promise<Snapshot> {
    const named = name === undefined ? {} : { name }
    return ownSnapshot({ ...named, ...observe(), clock: clock.dump(), journal: journal.dump() })
  }
}

function digestOfState(
  { journal, usage, ...rest }: Snapshot,
  { now, ...others }: { readonly now: number; readonly clock: unknown; readonly keys: unknown },
): Promise<string> {
  return digestOf({
    ...rest,
    ...others,
    usage: usageThatCounts(usage, now),
    journal: withoutNetwork(journal),
  })
}
