import {
  type PostgresOptions,
  type PostgresStorage,
  postgresStorage,
} from '../../adapters/postgres/index.js'

/** Opens a storage with a short time limit, again where a busy machine did not keep it. */
export async function openAgain(options: PostgresOptions): Promise<PostgresStorage> {
  for (let left = 20; ; left--) {
    try {
      return await postgresStorage(options)
    } catch (error) {
      if (left === 0) throw error
    }
  }
}
