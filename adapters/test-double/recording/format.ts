import type { NewPet } from '../../../src/pets/schema.js'
import type { PetSnapshot } from '../../../src/ports.js'
import type { Exchange, FaultKind } from '../../exchanges/exchange.js'
import type { Fault } from '../faults/fault.js'
import type { Planned } from '../tape.js'
import type { NamedKey } from './names.js'

/** A recording, as its file holds it in JSON. Integers have all their digits. */
export interface RecordingFile {
  readonly format: typeof FORMAT
  readonly version: typeof VERSION
  readonly begin: {
    /** Those of `createTestDouble` that plain JSON can hold, without `apiKeys`. */
    readonly options: Readonly<Record<string, unknown>>
    readonly keys: readonly NamedKey[]
    /** Of the first clock: ms since the Unix epoch. */
    readonly at: number
    readonly frozen: boolean
    /** A snapshot; null for a double that was new. */
    readonly state: object | null
  }
  readonly steps: readonly Step[]
}

export const FORMAT = 'animal-adoption-store recording'
export const VERSION = 1

/** Something that changed the double, in the order in which it took effect. */
export type Step = StepBase & StepAct

export interface StepBase {
  /** 1, 2, 3 … */
  readonly step: number
  /** Ms since the Unix epoch, by the clock of its world. */
  readonly at: number
  /** The id of its world; absent outside of worlds. */
  readonly world?: string | undefined
  /** It belongs to a state that a reset had replaced; a replay leaves it out. */
  readonly late?: true | undefined
  /** SHA-256 of the digest before, this step and the state after it. */
  readonly digest: string
}

export type StepAct =
  | SendStep
  | { readonly do: 'run'; readonly id: number }
  | AnswerStep
  | ({ readonly do: 'clock' } & ClockFields)
  | { readonly do: 'reset' | 'clear-faults' | 'clear-requests' | 'end-world' }
  | { readonly do: 'create'; readonly pet: NewPet }
  | { readonly do: 'arm'; readonly fault: Fault }
  | { readonly do: 'key'; readonly key: NamedKey }
  | { readonly do: 'restore'; readonly snapshot: object }
  | {
      readonly do: 'world'
      readonly pets: PetSnapshot
      readonly keys: readonly NamedKey[]
      readonly frozen: boolean
    }

/** A request arrives. */
export interface SendStep {
  readonly do: 'send'
  readonly id: number
  readonly operation: Exchange['operation']
  /** The id of the key; null without a valid one. */
  readonly key: string | null
  readonly request: SentRequest
  /** Faults that a schedule had for it, besides those that were armed. */
  readonly planned?: Planned | undefined
}

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** In place of `body`, for bytes that are not UTF-8. */
  readonly base64?: string | undefined
  /** The caller's address. */
  readonly client?: string | undefined
  readonly mount?: string | undefined
  /** Why a door could not read it. */
  readonly refusal?: Refusal | undefined
  readonly connection: number | null
  readonly sequential: boolean
  readonly overlap: Exchange['overlap']
}

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** A response leaves. */
export interface AnswerStep {
  readonly do: 'answer'
  readonly id: number
  /** 0 for a request that is never answered. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The fault that was injected. */
  readonly fault?: FaultKind | undefined
  /** The operation has run before a `status` fault replaced its response. Missing in older files. */
  readonly ran?: true | undefined
}

export interface ClockFields {
  readonly frozen: boolean
  readonly scale?: number | undefined
  readonly auto?: boolean | undefined
}
