export { OptionError } from '../../../src/lib/check-options.js'
export type { RestoreOptions } from '../kit/pet-stream.js'
export { SqliteError } from './failures.js'
export { type SqliteOptions, sqliteStorage } from './open.js'
export {
  type SqliteRateLimitStore,
  type SqliteRateLimitStoreOptions,
  sqliteRateLimitStore,
} from './rate-limits.js'
export type { SqliteStorage } from './storage.js'
