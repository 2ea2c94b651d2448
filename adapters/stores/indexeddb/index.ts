export { IndexedDbError } from './failures.js'
export { type IndexedDbOptions, indexedDbRateLimits, indexedDbStorage } from './open.js'
export type { IndexedDbRateLimits } from './rate-limits.js'
export type { IndexedDbStorage } from './storage.js'
