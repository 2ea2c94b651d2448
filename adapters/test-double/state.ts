import type { ApiRequest, ApiResponse } from '../../src/api.js'
import type { ApiKey } from '../../src/api-keys.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../src/ports.js'
import { createStore, type Store, type StoreOptions } from '../../src/store.js'
import { memoryRateLimits, memoryStorage } from '../memory.js'
import { type ClockState, createClock, type WaitingClock } from './clock.js'

import { createFaults, type Fault, type Faults } from './faults.js'
import { injectFault } from './inject-fault.js'
import { createJournal, type Journal, type JournalState } from './journal.js'
import { digestOfValue, type Snapshot } from './snapshot.js'

export interface StateOptions extends Omit<StoreOptions, 'storage' | 'rateLimits' | 'clock'> {
  readonly basePath: string
  readonly pagination: boolean
  readonly journal: number
}

/** What a state begins with; all that is not given is empty. */
export interface Beginning extends Partial<Omit<Snapshot, 'clock' | 'faults'>> {
  readonly clock: ClockState
  readonly faults?: readonly Fault[] | undefined
}

/**
 * Everything that a double can change, made at once and replaced at once: a reset forgets nothing
 * because it keeps nothing, and a request under way ends in the state that it began in.
 */
export interface State {
  readonly store: Store
  readonly clock: WaitingClock
  readonly faults: Faults
  readonly journal: Journal
  handle(request: ApiRequest): Promise<ApiResponse>
  /** Makes a key valid. @throws OptionError */
  addKey(key: string, record: ApiKey): void
  dump(): Promise<Snapshot>
  digest(): Promise<string>
}

export function createState(options: StateOptions, begin: Beginning): State {
  const { journal: capacity, ...storeOptions } = options
  const { pets = [], nextId = pets.length + 1, usage = [] } = begin
  const storage = memoryStorage({ pets, nextId })
  const rateLimits: RateLimitStore = memoryRateLimits()
  rateLimits.restore(usage)
  const clock = createClock(begin.clock)
  const store = createStore({ ...storeOptions, storage, rateLimits, clock: clock.now })
  const keys = Object.values(options.apiKeys).map(record => ({ ...record }))
  const faults = createFaults(() => keys.map(({ id }) => id), begin.faults)
  const journal = createJournal(capacity, clock.now, options.pagination, begin.journal)

  return {
    store,
    clock,
    faults,
    journal,
    handle(request) {
      const { operation, key } = store.identify(request)
      const look = { operation, key: key?.id }
      return journal.record(request, look, note =>
        injectFault(store, request, { look, faults, clock, note }),
      )
    },
    addKey(key, record) {
      store.apiKeys.add(key, record)
      keys.push({ ...record })
    },
    dump,
    async digest() {
      // A running clock is no other state a moment later.
      const { frozen, offset } = clock
      const time = frozen ? { frozen, now: clock.now() } : { frozen, offset }
      const { journal, ...rest } = await dump()
      return digestOfValue({ ...rest, journal: withoutConnections(journal), clock: time, keys })
    },
  }

  /** One instant: everything is read before the first await. */
  async function dump(): Promise<Snapshot> {
    const [animals, usage] = [storage.dump(), rateLimits.dump()]
    const rest = {
      clock: { now: clock.now(), frozen: clock.frozen },
      faults: faults.list(),
      journal: journal.dump(),
    }
    return { ...(await animals), usage: (await usage).map(inFieldOrder), ...rest }
  }
}

/** Connections depend on the network, and are others after a restore. */
function withoutConnections({ connections: _, exchanges, ...journal }: JournalState) {
  return {
    ...journal,
    exchanges: exchanges.map(({ connection: _, sequential: __, ...exchange }) => exchange),
  }
}

/** As the schema of a snapshot writes it. */
function inFieldOrder([partition, usage]: RateLimitSnapshot[number]): RateLimitSnapshot[number] {
  const { lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel } = usage
  return [partition, { lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel }]
}
