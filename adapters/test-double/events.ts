import type { Instant } from '../../src/lib/time.js'
import type { NewPet } from '../../src/pets/schema.js'
import type { Operation } from '../../src/pets/specification.js'
import type { Clock, PetSnapshot, RateLimitSnapshot } from '../../src/ports.js'
import type { KeyRing, KnownKey } from '../../src/protocol/api-keys.js'
import type { ApiResponse } from '../../src/protocol/api-request.js'
import type { Exchange } from '../verdict/log/exchange.js'
import type { FaultKind } from '../verdict/log/fault-kinds.js'
import type { HarSource } from '../verdict/log/har.js'
import type { ReadRequest } from '../verdict/log/read-request.js'
import type { ClockState } from './clock/clock.js'
import type { ArmedFault, Fault } from './faults/fault.js'
import type { TakenFaults } from './faults/faults.js'

/** Every change of a double or its worlds, in the order in which it takes effect. */
export type Act =
  | {
      readonly do: 'send'
      readonly id: number
      readonly request: ReadRequest
      readonly seen: Pick<Exchange, 'connection' | 'sequential' | 'overlap'>
      readonly operation: Operation | undefined
      readonly knownKey: KnownKey | undefined
      readonly planned: TakenFaults | undefined
    }
  | { readonly do: 'run'; readonly id: number }
  | {
      readonly do: 'answer'
      readonly id: number
      readonly response: ApiResponse
      readonly fault: FaultKind | null
      readonly source: () => HarSource
    }
  | { readonly do: 'clock' | 'reset' | 'clear-requests' | 'end-world' | 'key' }
  | { readonly do: 'clear-faults'; readonly fault?: Fault }
  | { readonly do: 'create'; readonly pet: NewPet }
  | { readonly do: 'arm'; readonly fault: Fault }
  /** Includes the snapshot itself, which may come from another double. */
  | { readonly do: 'restore'; readonly snapshot: object }
  | { readonly do: 'world'; readonly snapshot: PetSnapshot; readonly time: Instant | undefined }

export interface DoubleEvent {
  readonly act: Act
  readonly world: string | null
  /** The state afterwards. A request may end in a state that a reset has replaced. */
  readonly state: ObservableState
}

export interface ObservableState {
  readonly apiKeys: KeyRing
  /** Ms since the Unix epoch; frozen once the state is over. */
  readonly now: Clock
  readonly clock: { dump(): ClockState & { readonly now: number } }
  observe(): Observed
}

export interface Observed extends PetSnapshot {
  readonly usage: RateLimitSnapshot
  readonly faults: readonly ArmedFault[]
}

export interface ReplayableRequest extends ReadRequest {
  readonly replay?: {
    readonly planned: TakenFaults | undefined
    /** Resolves when a delayed request is to be handled, or its response may leave. */
    step(name: 'run' | 'answer'): Promise<void>
  }
}

export interface Track {
  readonly events: EventLog
  readonly world: string | null
}

export type EventLog = ReturnType<typeof createEventLog>

export function createEventLog() {
  return {
    listeners: new Set<(event: DoubleEvent) => void>(),
    activity: new Set<() => void>(),
    sent: 0,
    open: 0,
    acts: 0,
    worlds: 0,
  }
}
