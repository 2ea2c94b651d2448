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
  readonly dropped: number
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
  state: JournalState = { exchanges: [], dropped: 0 },
): Journal {
  const drafts: Draft[] = state.exchanges.slice(-capacity).map(exchange => ({ ...exchange }))
  let dropped = state.dropped + state.exchanges.length - drafts.length
  let n = state.exchanges.at(-1)?.n ?? dropped
  const callers = createCallers()

  return {
    async record(request, look, answer) {
      const caller = `${look.key ?? request.client}\n${request.headers['user-agent']}`
      const draft: Draft = {
        ...requestOf(request, look, pagination),
        n: ++n,
        at: clock(),
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
    dump: () => ({ exchanges: drafts.map(draft => ({ ...draft })), dropped }),
  }
}
