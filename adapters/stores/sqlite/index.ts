export type { RestoreOptions } from '../kit/pet-stream.js'
export { SqliteError } from './failures.js'
export { type SqliteOptions, sqliteStorage } from './open.js'
export {
  type SqliteRateLimitOptions,
  type SqliteRateLimits,
  sqliteRateLimits,
} from './rate-limits.js'
export type { SqliteStorage } from './storage.js'
