import { loadDriver } from '../../../adapters/stores/sqlite/driver.js'

/** Why SQLite cannot be tested here; false if it can. */
export const withoutSqlite = reason()
if (withoutSqlite !== false && process.env['ADOPTION_STORE_SQLITE'] === 'required') {
  throw new Error(withoutSqlite)
}

function reason(): string | false {
  try {
    loadDriver('SQLite')
    return false
  } catch (error) {
    return (error as Error).message
  }
}
