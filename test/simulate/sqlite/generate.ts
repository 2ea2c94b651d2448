import { scenarioOf } from '../generate.js'
import { type Choices, choicesOf } from '../random.js'
import type { PlannedEvent, Scenario } from '../scenario.js'
import type { DriverFailure } from './calls.js'

/** The world of that name with SQLite: another process takes locks, and the driver fails instead of a disk. */
export function sqliteScenarioOf(name: string): Scenario {
  const { setting, events, ...scenario } = scenarioOf(name)
  const choices = choicesOf(name, 'sqlite')
  const sqlite = {
    processes: choices.pick([1, 2, 2]),
    ownLimits: choices.chance(0.4),
    contention: choices.pick([0, 0, 0.02, 0.3]),
    interruption: choices.pick([0, 0.02, 0.2]),
  }
  const known = events.map(event => withDriver(event, choices))
  const all = [...known, ...locksOf(choices, events)].toSorted((a, b) => a.at - b.at)
  return { ...scenario, setting: { ...setting, sqlite }, events: all }
}

function withDriver(event: PlannedEvent, choices: Choices): PlannedEvent {
  if (event.kind !== 'disk-fails') return event
  const { at, calls } = event
  const failure: DriverFailure = {
    statement: choices.pick(['any', 'BEGIN', 'COMMIT', 'INSERT', 'SELECT']),
    code: choices.pick(['BUSY', 'NOMEM', 'IOERR', 'FULL']),
  }
  return { at, kind: 'driver-fails', calls, failure }
}

function locksOf(choices: Choices, events: readonly PlannedEvent[]): PlannedEvent[] {
  // Quiet worlds stay quiet.
  const isQuiet = events.every(({ kind }) => kind === 'call')
  const count = isQuiet ? 0 : choices.pick([0, 5, 20])
  return Array.from({ length: count }, () => ({
    at: choices.pick(events).at,
    kind: 'lock',
    ms: choices.pick([5, 80, 400, 3_000, 10_000]),
  }))
}
