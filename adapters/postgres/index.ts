export { PostgresError } from './failures.js'
export { type PostgresOptions, postgresStorage } from './open.js'
export type { PostgresClient, PostgresPool, PostgresQuery } from './pool.js'
export type { Connections, PostgresStorage, RestoreOptions } from './storage.js'
