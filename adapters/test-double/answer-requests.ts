import { retryInstant } from '../../src/lib/retry-after.js'
import { isClockTime } from '../../src/lib/time.js'
import type { ApiHandler, ApiResponse } from '../../src/protocol/api-request.js'
import type { Store } from '../../src/store.js'
import type { FaultKind } from '../verdict/log/fault-kinds.js'
import type { Call, Recorder } from '../verdict/log/recorder.js'
import type { ControlledClock } from './clock/clock.js'
import type { Act, ReplayableRequest, Track } from './events.js'
import type { DelayFault } from './faults/fault.js'
import type { Faults, TakenFaults } from './faults/faults.js'
import { injectFault } from './faults/inject-fault.js'

/** Sees every request on arrival, and may inject faults besides the armed ones. */
export type Watch = (call: Call) => {
  readonly planned: TakenFaults | undefined
  /** @param isFaultless true if no fault was injected */
  answered(answer: ApiResponse, isFaultless: boolean): void
}

export interface RequestsOptions {
  readonly time: Time
  readonly track: Track
  readonly watch: Watch | undefined
}

/** The clocks of a double, which outlive its states. */
interface Time {
  readonly clock: ControlledClock
  readonly real: () => ControlledClock
  readonly endDelays: () => void
}

interface Parts {
  readonly store: Store
  readonly now: () => number
  readonly faults: Faults
  readonly journal: Recorder
  readonly tell: (act: Act) => void
  readonly judge: () => void
}

/** Answers the requests of one state, with their faults and delays. */
export function createRequests(
  { track: { events }, time, watch }: RequestsOptions,
  { store, now, faults, journal, tell, judge }: Parts,
) {
  let underWay = 0
  let isOver = false

  return {
    async handle(request: ReplayableRequest): Promise<ApiResponse> {
      const id = ++events.sent
      const { clock } = time
      events.open++
      change(1)
      try {
        const { n, answering, end, source, injectedFault, answered } = arrive(request, id)
        const response = await answering
        if (request.replay) await request.replay.step('answer')
        end(response)
        tell({ do: 'answer', id, response, fault: injectedFault(), source })
        answered?.(response)
        // The window is closed: judge now, as no report will trigger it.
        if (isOver) judge()
        else if (clock.auto) clock.reach(retryTime(response, clock()))
        // In place, as a copy costs a tenth of a call, and nobody else has this response.
        const about = Object.assign(response.about ?? {}, { journal: n })
        return Object.assign(response, { about })
      } finally {
        events.open--
        change(-1)
      }
    },
    isBusy: () => underWay > time.clock.delays(),
    end(): void {
      isOver = true
    },
  }

  function change(by: 1 | -1): void {
    underWay += by
    for (const notice of events.activity) notice()
  }

  function arrive(request: ReplayableRequest, id: number) {
    const { operation, knownKey, request: identified } = store.identify(request)
    const call = { operation, keyId: knownKey?.id }
    const { n, note, end, seen, source } = journal.begin(request, call)
    const watched = watch?.(call)
    const planned = request.replay?.planned ?? watched?.planned
    const taken = both(faults.take(call, request.headers), planned)
    let fault: FaultKind | null = null
    const answering = taken
      ? injectFault(taken.delay ? delayedStore(id) : store, identified, taken, {
          now,
          async delay(wait) {
            await (request.replay?.step('run') ?? delay(wait))
            if (taken.fault?.kind === 'hang') tell({ do: 'run', id })
          },
          clockOf,
          pause: paused,
          note(kind) {
            fault = kind
            note(kind)
            taken.fire?.(kind)
          },
          isKnown: knownKey !== undefined,
        })
      : store.handle(identified)
    tell({ do: 'send', id, request, seen, operation, knownKey, planned })
    const answered = watched && ((answer: ApiResponse) => watched.answered(answer, !taken))
    return { n, answering, end, source, injectedFault: () => fault, answered }
  }

  function delayedStore(id: number): ApiHandler {
    return {
      ...store,
      handle(request) {
        const answering = store.handle(request)
        tell({ do: 'run', id })
        return answering
      },
    }
  }

  /** Counts a trickling body as waiting for the clock, like its request before. */
  async function paused(wait: Wait): Promise<void> {
    change(1)
    await delay(wait)
    change(-1)
  }

  async function delay({ duration, real }: Wait): Promise<void> {
    if (!isOver) await clockOf(real).delay(Number(duration))
  }

  function clockOf(real = false): ControlledClock {
    return real ? time.real() : time.clock
  }
}

type Wait = Pick<DelayFault, 'duration' | 'real'>

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
      const { fire } = isGiven ? given : armed
      fire?.(kind)
    },
  }
}

function retryTime({ headers }: ApiResponse, now: number): number {
  const instant = retryInstant(headers['Retry-After'], now) ?? now
  return isClockTime.accepts(instant) ? instant : now
}
