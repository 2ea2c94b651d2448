import type { PetSnapshot, PetStorage, RateLimitStore, Store } from '../../src/index.js'
import type { DiskCall } from './disk.js'
import type { ApiModel, Expectation } from './model/api.js'
import type { PlannedEvent, Setting } from './scenario.js'
import type { Scheduler } from './scheduler.js'

/** Where the server keeps everything, the machine below it, and what can go wrong with both. */
export interface Engine {
  /** How many processes serve at the same time. */
  readonly processes: number
  /** How long timers go on that nothing stops, in ms. */
  readonly restMs: number
  /** Opens all that a process needs. Rejects as the adapters do. */
  open(process: number): Promise<Backend>
  /** Copies everything as the command does, while nothing is open. The copy is opened from now on. */
  copy(): Promise<void>
  /** What lies beside the file, or is open, when a storage is closed, and should not. */
  leftovers(): Promise<readonly string[]>

  /**
   * Calls back before or after the call of that number to the disk or the driver, from now on; where it
   * tells them apart, only those of that kind count.
   */
  atCall(count: number, when: 'before' | 'after', task: () => void, call?: DiskCall): void
  /**
   * Ends the process that makes the current call; what it wrote stays, synced or not.
   *
   * @param isAll ends all processes
   * @returns the processes that are dead
   */
  kill(isAll: boolean): readonly number[]
  /** Ends all processes, and of what was not synced any part may be lost. */
  cutPower(): readonly number[]
  /** Whether everything that takes space fails. */
  setFull(full: boolean): void
  /** Ends all failures, also those that are still to come. */
  heal(): void
  /** How often that has had a reason to fail. */
  failures(what: 'open' | 'create' | 'read'): number
  /** What else can happen to it. */
  readonly happenings: Partial<Happenings>
  /** Frees what is real. */
  dispose(): void
}

export type Happenings = {
  readonly [Kind in PlannedEvent['kind']]: (
    event: Extract<PlannedEvent, { kind: Kind }>,
  ) => void | Promise<void>
}

/** What one process has open. */
export interface Backend {
  readonly storage: PetStorage
  readonly rateLimits: RateLimitStore
  /** Before the process serves. @param isFirst whether nothing has served since everything ended */
  begin(store: Store, isFirst: boolean): Promise<void>
  /** Has the limiter of the model decide a request when that of the server does, and returns the answer. */
  admit<T>(expected: Expectation, answer: () => Promise<T>, from: string): Promise<T>
  /** The whole content, whatever fails now. */
  content(): Promise<PetSnapshot>
  /** @param keeps whether counts in memory are to be found again when it is opened */
  close(keeps: boolean): Promise<void>
}

/** What all parts of a world share. */
export interface Stage {
  readonly seed: string
  readonly setting: Setting
  readonly scheduler: Scheduler
  readonly model: ApiModel
  /** The clock of the machine, which steps. */
  readonly clock: () => number
  readonly note: (what: string) => void
  readonly trace: (line: string) => void
  readonly fail: (error: unknown) => void
}

export interface EngineOptions extends Stage {
  /** Has a process other than this one handle a request, now. */
  readonly interrupt: (process: number) => void
}

export type CreateEngine = (options: EngineOptions) => Promise<Engine>
