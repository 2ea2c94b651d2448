import type { KeyRing } from '../../src/protocol/api-keys.js'
import type { Verdict } from '../verdict/verdict.js'
import { type Beginning, createState, type State, type StateOptions } from './state.js'

/** The state of a double, which a reset or a restore replaces as a whole. */
export interface CurrentState {
  get(): State
  /** Replaces it with one that has the initial keys. */
  reset(begin: Beginning): void
  /** @throws OptionError, and then nothing has changed */
  replace(begin: Beginning, apiKeys: KeyRing): void
}

export function createCurrentState(
  options: StateOptions,
  begin: Beginning,
  verdict: Verdict,
): CurrentState {
  const { clock, real } = options.time
  let resets = 0
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
      old.end(old.now())
      for (const notice of options.track.events.activity) notice()
      real.endDelays()
      clock.restore(beginning.clock)
    },
  }
  return current

  function create(given: StateOptions, beginning: Beginning, after: number): State {
    return createState(given, beginning, source =>
      verdict.record(after === 0 ? null : `after reset ${after}`, source),
    )
  }
}
