import type { KeyRing } from '../../src/protocol/api-keys.js'
import type { Verdict } from '../verdict/verdict.js'
import { type Beginning, createState, type State, type StateOptions } from './state.js'

export type CurrentState = ReturnType<typeof createCurrentState>

/** The state of a double, which a reset or a restore replaces as a whole. */
export function createCurrentState(options: StateOptions, begin: Beginning, verdict: Verdict) {
  const { clock, endDelays } = options.time
  let resets = 0
  let state = create(options, begin, 0)

  return {
    get: () => state,
    /** Replaces it with one that has the initial keys. */
    reset(beginning: Beginning): void {
      replace(beginning, options.apiKeys)
      state.tell({ do: 'reset' })
    },
    replace,
  }

  /** @throws OptionError, and then nothing has changed */
  function replace(beginning: Beginning, apiKeys: KeyRing): void {
    const old = state
    state = create({ ...options, apiKeys }, beginning, resets + 1)
    resets++
    old.end(old.now())
    for (const notice of options.track.events.activity) notice()
    endDelays()
    clock.restore(beginning.clock)
  }

  function create(given: StateOptions, beginning: Beginning, after: number): State {
    return createState(given, beginning, source =>
      verdict.record(after === 0 ? null : `after reset ${after}`, source),
    )
  }
}
