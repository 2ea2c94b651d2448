import type { FaultUse, UnusedFault } from '../../verdict/rules/unused-faults.js'
import type { Armed, Fault } from './fault.js'

/** What the verdict asks, and what tells it. */
export interface FaultUseLog extends FaultUse {
  /** It has affected a response. */
  fire(one: Armed): void
  /** It is no longer armed. */
  drop(one: Armed): void
  /** A snapshot has those that are armed, and may arm them again. */
  keep(): void
}

/** @param armed the faults that can still fire */
export function createUse(armed: () => readonly Armed[]): FaultUseLog {
  /** Cleared, or used up by a request that got another response, such as 401. */
  const dropped = new Set<Armed>()
  const fired = new Set<Fault>()
  const kept = new WeakSet<Armed>()

  return {
    fired,
    unused: (): readonly UnusedFault[] =>
      [...dropped, ...armed()]
        .filter(one => one.fired === 0)
        .map(one => ({
          text: textOf(one.fault),
          key: one.fault.key ?? null,
          at: one.at,
          option: typeof one.source === 'string' ? undefined : one.source,
          isKept: one.source === 'restored' || kept.has(one),
        })),
    keep() {
      for (const one of armed()) kept.add(one)
    },
    fire(one) {
      one.fired++
      dropped.delete(one)
      if (typeof one.source !== 'string') fired.add(one.source)
    },
    drop(one) {
      if (one.fired === 0) dropped.add(one)
    },
  }
}

/** Such as `status 503 after createPet, from request 2`. */
function textOf(fault: Fault): string {
  const { kind, operation, nth, requestHeaders, from, until } = fault
  const when = fault.kind === 'status' && fault.when === 'after' ? 'after' : 'for'
  const parts = [
    `${kind}${fault.kind === 'status' ? ` ${fault.status}` : ''} ${when} ${operation ?? 'any operation'}`,
    nth !== undefined && `from request ${nth}`,
    requestHeaders && `by the header ${Object.keys(requestHeaders).join(', ')}`,
    from !== undefined && `from ${isoOf(from)}`,
    until !== undefined && `until ${isoOf(until)}`,
    fault.chance !== undefined && `with chance ${fault.chance}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** An armed fault has instants in ms. */
function isoOf(instant: Fault['from']): string {
  return new Date(instant as number).toISOString()
}
