import { DRIVERS, type DriverName, loadDriver } from '../../adapters/sqlite/driver.js'

export interface DriverTest {
  readonly driver: DriverName
  /** Why it cannot be tested here; false if it can. */
  readonly skip: string | false
}

export const DRIVER_TESTS: readonly DriverTest[] = await Promise.all(
  DRIVERS.map(async driver => ({ driver, skip: await missing(driver) })),
)

/** For tests to which the driver makes no difference. */
export const ANY_DRIVER = DRIVER_TESTS.find(({ skip }) => skip === false) ?? {
  skip: 'SQLite needs Node 22.13 or newer, or better-sqlite3; see CONTRIBUTING.md',
}
if (ANY_DRIVER.skip !== false && process.env['ADOPTION_STORE_ENGINES'] === 'required') {
  throw new Error(ANY_DRIVER.skip)
}

/** Another Node that has `node:sqlite`, for tests of two drivers: one process cannot load both. */
export const OTHER_NODE = process.env['ADOPTION_STORE_OTHER_NODE']
export const withoutBothDrivers =
  DRIVER_TESTS.find(({ driver }) => driver === 'better-sqlite3')?.skip ||
  (!OTHER_NODE && 'ADOPTION_STORE_OTHER_NODE names no Node with node:sqlite')

async function missing(driver: DriverName): Promise<string | false> {
  try {
    const open = await loadDriver('SQLite', driver)
    open(':memory:').close()
    return false
  } catch (error) {
    return (error as Error).message
  }
}
