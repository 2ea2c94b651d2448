import { withoutSqlite } from '../stores/sqlite/availability.js'
import { doubleScenarioOf } from './double/generate.js'
import { createDoubleLife } from './double/life.js'
import { createFileEngine } from './file-engine.js'
import { scenarioOf } from './generate.js'
import type { Scenario } from './scenario.js'
import { withStorage } from './server.js'
import { createSqliteEngine } from './sqlite/engine.js'
import { sqliteScenarioOf } from './sqlite/generate.js'
import { type Outcome, runWorld } from './world.js'

/** All that a world is made of, as plain data. What happens from outside can be left out, one by one. */
export interface Plan {
  readonly seed: string
  readonly events: readonly unknown[]
}

/** A kind of world. */
export interface WorldKind {
  /** The same plan for the same seed. */
  plan(seed: string): Plan
  run(plan: Plan): Promise<Outcome>
  /** Why it cannot run here; false if it can. */
  readonly missing?: string | false
}

export const WORLDS: Readonly<Record<string, WorldKind>> = {
  file: {
    plan: scenarioOf,
    run: plan => runWorld(plan as Scenario, withStorage(createFileEngine)),
  },
  sqlite: {
    plan: sqliteScenarioOf,
    run: plan => runWorld(plan as Scenario, withStorage(createSqliteEngine)),
    missing: withoutSqlite,
  },
  double: {
    plan: doubleScenarioOf,
    run: plan => runWorld(plan as Scenario, createDoubleLife),
  },
}

export function worldOf(name: string): WorldKind {
  const kind = WORLDS[name]
  if (!kind)
    throw new Error(`Unknown world ${name}; expected one of ${Object.keys(WORLDS).join(', ')}`)
  return kind
}
