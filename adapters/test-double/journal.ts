import type { ApiRequest, ApiResponse } from '../../src/api.js'
import type { Clock } from '../../src/ports.js'
import { createCallers } from './callers.js'
import { answerOf, type Exchange, type Look, requestOf } from './exchange.js'
import type { FaultKind } from './faults.js'

export interface ExchangeFilter {
  readonly key?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
}

export interface JournalState {
  readonly exchanges: readonly Exchange[]
  /** How many requests have arrived: the `n` of the last one. */
  readonly received: number
  /** How many exchanges were dropped because there were too many. */
  readonly dropped: number
  /** How many connections they arrived on. */
  readonly connections: number
}

export interface Journal {
  /** Notes the request, has it answered, notes the answer. */
  record(
    request: ApiRequest,
    look: Look,
    answer: (note: (fault: FaultKind) => void) => Promise<ApiResponse>,
  ): Promise<ApiResponse>
  /** In the order of arrival. */
  list(filter?: ExchangeFilter): readonly Exchange[]
  /** How many came to be forgotten because there were too many. */
  readonly dropped: number
  clear(): void
  dump(): JournalState
}

type Draft = { -readonly [name in keyof Exchange]: Exchange[name] }

/** The last `capacity` exchanges with a store. */
export function createJournal(
  capacity: number,
  clock: Clock,
  pagination: boolean,
  state?: JournalState,
): Journal {
  const { exchanges = [], received = 0 } = state ?? {}
  const drafts: Draft[] = exchanges.slice(-capacity).map(exchange => ({ ...exchange }))
  const callers = createCallers(state?.connections)
  let dropped = (state?.dropped ?? 0) + exchanges.length - drafts.length
  let n = received

  return {
    async record(request, look, answer) {
      const caller = `${look.key ?? request.client}\n${request.headers['user-agent']}`
      const draft: Draft = {
        n: ++n,
        at: clock(),
        ...requestOf(request, look, pagination),
        ...callers.arrive(caller, request.connection),
      }
      drafts.push(draft)
      if (drafts.length > capacity) {
        drafts.shift()
        dropped++
      }
      const response = await answer(fault => {
        draft.fault = fault
      })
      callers.leave(caller, request.connection)
      if (draft.fault !== 'hang') Object.assign(draft, { answeredAt: clock() }, answerOf(response))
      return response
    },
    list({ key, operation, status } = {}) {
      const found = drafts.filter(
        draft =>
          (key === undefined || draft.key === key) &&
          (operation === undefined || draft.operation === operation) &&
          (status === undefined || draft.status === status),
      )
      return found.map(draft => ({ ...draft }))
    },
    get dropped() {
      return dropped
    },
    clear() {
      drafts.length = 0
      dropped = 0
    },
    dump: () => ({
      exchanges: drafts.map(draft => ({ ...draft })),
      received: n,
      dropped,
      connections: callers.connections,
    }),
  }
}
