import { retryInstant } from '../../src/lib/retry-after.js'
import { isClockTime } from '../../src/lib/time.js'
import type { ApiHandler, ApiResponse } from '../../src/protocol/api.js'
import type { Store } from '../../src/store.js'
import type { FaultKind } from '../exchanges/fault-kinds.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import type { Call, Recorder } from '../exchanges/recorder.js'
import { createClock, type StateClock } from './clock/clock.js'
import type { Act, Track } from './events.js'
import type { DelayFault } from './faults/fault.js'
import type { Faults, TakenFaults } from './faults/faults.js'
import { injectFault } from './faults/inject-fault.js'
import type { TrickleTime } from './faults/trickle.js'

/** Sees every request as it arrives, and may inject faults besides those that are armed. */
export type Watch = (call: Call) => {
  readonly taken: TakenFaults | undefined
  /** @param isFaultless whether no fault was injected */
  answered(answer: ApiResponse, isFaultless: boolean): void
}

/** The requests of one state. */
export interface Requests {
  handle(request: ReadRequest): Promise<ApiResponse>
  /** Whether one is being handled that is not waiting for the clock. */
  isBusy(): boolean
  /** Ends their delays. */
  endDelays(): void
  /** Ends the delays, and forgets sleeps and timers. @returns how many it forgot */
  drop(): number
  /** The state is over; requests in flight go on. */
  end(): void
}

interface Parts {
  readonly store: Store
  readonly clock: StateClock
  readonly faults: Faults
  readonly journal: Recorder
  readonly tell: (act: Act) => void
  /** Feeds the verdict. */
  readonly judge: () => void
  readonly onEvent: () => void
}

/** Has the store answer requests, with the faults and delays that apply to them. */
export function createRequests(
  { track: { events }, watch }: { readonly track: Track; readonly watch: Watch | undefined },
  { store, clock, faults, journal, tell, judge, onEvent }: Parts,
): Requests {
  const delays = createDelays(clock, onEvent)
  let underWay = 0
  let isOver = false

  return {
    async handle(request) {
      const id = ++events.sent
      events.open++
      underWay++
      onEvent()
      try {
        // Whatever a request changes on arrival, it changes at one instant, for a replay to repeat.
        const { answering, end, source, injectedFault, answered } = clock.hold(() =>
          arrive(request, id),
        )
        const response = await answering
        if (events.pace) await events.pace.answer(id)
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
        events.open--
        onEvent()
      }
    },
    endDelays: delays.end,
    drop: delays.drop,
    isBusy: () => underWay > clock.delays(),
    end() {
      isOver = true
    },
  }

  function arrive(request: ReadRequest, id: number) {
    const { operation, key, request: identified } = store.identify(request)
    const call = { operation, key: key?.id }
    const { note, end, seen, source } = journal.begin(request, call)
    const watched = watch?.(call)
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
    await (events.pace ? events.pace.run(id) : delays.wait(wait))
    if (fault?.kind === 'hang') tell({ do: 'run', id })
  }

  /** A body that trickles is under way, as its request was before: nothing else waits on the clock. */
  function timeOf(real = false): TrickleTime {
    return {
      now: delays.clockOf(real).now,
      async pause(ms) {
        if (isOver) return
        underWay++
        try {
          await delays.wait({ ms, real })
        } finally {
          underWay--
          onEvent()
        }
      },
    }
  }
}

/** Delays on the clock of the state, and those in real time. */
function createDelays(clock: StateClock, onEvent: () => void) {
  let realTime: StateClock | undefined
  return {
    clockOf,
    wait: ({ ms, real }: Pick<DelayFault, 'ms' | 'real'>) => clockOf(real).delay(ms, real),
    end() {
      clock.endDelays()
      realTime?.endDelays()
    },
    drop() {
      realTime?.drop()
      return clock.drop()
    },
  }

  function clockOf(real = false): StateClock {
    if (!real) return clock
    realTime ??= createClock({ frozen: false }, onEvent)
    return realTime
  }
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

/** When the answer allows the next attempt. */
function retryTime({ headers }: ApiResponse, now: number): number {
  const instant = retryInstant(headers['Retry-After'], now) ?? now
  return isClockTime.accepts(instant) ? instant : now
}
