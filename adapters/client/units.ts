import type { SharedKey } from './shared.js'
import type { Time } from './time.js'

/** How long to wait after Redis failed: the connection may need a moment to notice, in ms. */
const AFTER_FAILURE = 1_000

/** One request of the shared key, until it is given back. */
export interface Unit {
  giveBack(): void
}

/**
 * Requests units of a shared key until enough are requested or in use.
 *
 * @param start begins to use a unit; returns whether it is needed
 * @param returned called after each
 */
export function createUnits(
  key: SharedKey,
  time: Time,
  start: (unit: Unit) => boolean,
  returned: () => void,
): (wanted: number) => void {
  let units = 0

  return wanted => {
    key.start()
    while (key.state === 'ready' && units < wanted) {
      units++
      void key
        .run(use)
        .then(giveBack, () => time.at(time.now() + AFTER_FAILURE, giveBack, giveBack))
    }
  }

  function use(): Promise<boolean> {
    return new Promise(resolve => {
      if (!start({ giveBack: () => resolve(true) })) resolve(false)
    })
  }

  function giveBack(): void {
    units--
    returned()
  }
}
