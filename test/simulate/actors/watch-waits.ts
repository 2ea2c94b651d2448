import type { ClientOptions, RateLimitError } from '../../../adapters/client/index.js'
import { Violation } from '../violation.js'
import type { ActorContext } from './actor.js'

type Hooks = Required<Pick<ClientOptions, 'onRetry' | 'onWait'>>

/** Looks at the waits that a client announces. */
export function watchWaits({ setting, clock, fail }: ActorContext): Hooks {
  return {
    onRetry({ attempt, error, waitMs }) {
      const { retryAt } = error as Partial<RateLimitError>
      const backoff = Math.max(1_000, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))
      const told = Math.max(0, (retryAt ?? 0) - clock())
      const longest = Math.max(told, backoff)
      const jitter = retryAt === undefined ? 0 : Math.min(30_000, 1_000 + longest / 10)
      const isKnown = retryAt !== undefined || error.name === 'ConnectionError'
      const least = retryAt === undefined ? 1_000 : told
      ensureWait(!isKnown || (waitMs >= least - 1 && waitMs <= longest + jitter + 1), () => [
        error.name,
        attempt,
        told,
        waitMs,
      ])
    },
    onWait({ reason, until, waitMs }) {
      ensureWait(
        (reason as string) !== 'response' && Math.abs(until - clock() - waitMs) <= 1,
        () => [reason, until - clock(), waitMs],
      )
    },
  }

  function ensureWait(holds: boolean, about: () => readonly unknown[]): void {
    // A failing hook does not affect the call.
    if (!holds)
      fail(new Violation('client.waits', `${setting.name} announces a wait of ${about()}`))
  }
}
