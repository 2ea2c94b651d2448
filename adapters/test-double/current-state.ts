import type { ApiResponse } from '../../src/protocol/api.js'
import type { KeyRing } from '../../src/protocol/api-keys.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import type { Verdict } from '../verdict/verdict.js'
import { type Beginning, createState, type State, type StateOptions } from './state.js'

/** The state of a double, which a reset or a restore replaces as a whole. */
export interface CurrentState {
  get(): State
  /** Replaces it with one that has the initial keys. */
  reset(begin: Beginning): void
  /** @throws OptionError, and then nothing has changed */
  replace(begin: Beginning, apiKeys: KeyRing): void
  /** How many sleeps and timers resets and restores have dropped. */
  forgotten(): number
  /** A request ends in the state that it began in, however long its body takes to arrive. */
  beginRequest(): (request: ReadRequest) => Promise<ApiResponse>
  /** From now on, nobody advances the clock for delayed requests. */
  close(): void
}

export function createCurrentState(
  options: StateOptions,
  begin: Beginning,
  verdict: Verdict,
  onEvent: () => void,
): CurrentState {
  let [resets, forgotten, isClosed] = [0, 0, false]
  let state = create(options, begin, 0)

  const current: CurrentState = {
    get: () => state,
    reset(beginning) {
      current.replace(beginning, options.apiKeys)
      state.tell({ do: 'reset' })
    },
    replace(beginning, apiKeys) {
      const old = state
      state = create({ ...options, apiKeys }, beginning, resets + 1)
      resets++
      old.end()
      onEvent()
      forgotten += old.drop()
    },
    forgotten: () => forgotten,
    beginRequest() {
      const begun = state
      return request => {
        const answer = begun.handle(request)
        if (isClosed || begun !== state) begun.endDelays()
        return answer
      }
    },
    close() {
      isClosed = true
      state.end()
    },
  }
  return current

  function create(given: StateOptions, beginning: Beginning, after: number): State {
    return createState(given, beginning, onEvent, source =>
      verdict.record(after === 0 ? null : `after reset ${after}`, source),
    )
  }
}
