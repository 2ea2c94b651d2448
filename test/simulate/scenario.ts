import type { NewPet, Usage } from '../../src/index.js'
import type { StoreSettings } from '../../src/store.js'
import type { DiskCall, DiskFailure } from './disk.js'
import type { Weather } from './network.js'

/** All that a world is made of, as plain data: a file with it repeats the world. */
export interface Scenario {
  readonly seed: string
  readonly setting: Setting
  readonly events: readonly PlannedEvent[]
}

export interface Setting {
  readonly begin: number
  readonly actors: readonly ActorSetting[]
  readonly weather: Weather
  /** Null for those of the specification. */
  readonly anonymous: Limits | null
  readonly idempotencyMs: number | null
  readonly options: StoreSetting
  readonly keepsLimits: boolean
  /** Through `toFetchHandler`, or `handle` of the store. */
  readonly door: 'fetch' | 'handle'
  /** Longest call to the disk of the JSON file; items that arrive meanwhile are written together. */
  readonly diskMs: number
}

/** Options of the store. Those with their defaults are not given to it. */
export type StoreSetting = Pick<StoreSettings, keyof typeof DEFAULTS>

/** Of the options (README.md of the package). */
export const DEFAULTS = {
  pagination: false,
  defaultStatus: 'available',
} as const

/** Of the options of the client. */
export const CLIENT_DEFAULTS = {
  maxConcurrent: 10,
  maxQueued: 10_000,
  waitForBan: false,
  maxRetries: 3,
  maxWait: 120_000,
  timeout: 30_000,
}

export type ClientSetting = Readonly<typeof CLIENT_DEFAULTS>

/** Only what differs, so that the defaults are those of the package. */
export function withoutDefaults<T extends object>(options: T, defaults: T): Partial<T> {
  const isGiven = ([name, value]: [string, unknown]) => value !== defaults[name as keyof T]
  return Object.fromEntries(Object.entries(options).filter(isGiven)) as Partial<T>
}

export interface ActorSetting {
  /** `client 1`, and the like. */
  readonly name: string
  readonly kind: string
  readonly limits: Limits
  /** Of its connections. */
  readonly address: string
  /** Validity of its first key, in ms. */
  readonly expiresIn: number | null
  /** Error of its clock, in ms. */
  readonly skew: number
  readonly client: ClientSetting
  /** Its usage when the world begins. */
  readonly used: Usage | null
}

export interface Limits {
  /** That has these limits; otherwise the key has them for itself. */
  readonly plan?: 'free' | 'pro' | 'business'
  readonly perMinute: number
  readonly perDay: number
  readonly banAfterRejections: number
}

/** Of limits that do not say it (README.md of the package). */
export function usualBanAfter(perMinute: number): number {
  return Math.max(10, Math.floor(perMinute / 2))
}

/** Something that happens from outside, at a time in ms since the beginning. */
export type PlannedEvent = { readonly at: number } & (
  | { readonly kind: 'call'; readonly actor: string; readonly call: CallPlan }
  | ({ readonly kind: 'kill' } & DiskMoment)
  | ({ readonly kind: 'power-cut' } & DiskMoment)
  | { readonly kind: 'restart' }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'restore' }
  | { readonly kind: 'disk-fails'; readonly failure: DiskFailure; readonly calls: number }
  | ({ readonly kind: 'second-process' } & DiskMoment)
  | { readonly kind: 'disk-full'; readonly ms: number }
  | { readonly kind: 'network-cut'; readonly ms: number }
  | { readonly kind: 'clock-step'; readonly ms: number }
  | { readonly kind: 'new-key'; readonly actor: string; readonly expiresIn: number | null }
)

/** True if the clock of the server is set, so that Reset may be any instant. */
export function hasClockSteps(events: readonly PlannedEvent[]): boolean {
  return events.some(({ kind }) => kind === 'clock-step')
}

/** After so many calls to the disk, of all or of one kind, before or after the next one does its work. */
export interface DiskMoment {
  readonly call?: DiskCall
  readonly calls: number
  readonly when: 'before' | 'after'
}

export type CallPlan =
  | { readonly do: 'create'; readonly pet: PetPlan }
  | ({ readonly do: 'list' } & ListPlan)
  | { readonly do: 'get'; readonly id: number }
  | { readonly do: 'all' }

interface ListPlan {
  readonly limit: number
  readonly status: Status | null
  readonly after: number
}

type Status = NonNullable<NewPet['status']>

/** As JSON has it: a category beyond 2 ** 53 as text. */
export interface PetPlan {
  readonly name: string
  readonly categoryId: string
  readonly status: Status | null
}
