export { IndexedDbError } from './failures.js'
export { type IndexedDbOptions, indexedDbRateLimitStore, indexedDbStorage } from './open.js'
export type { IndexedDbRateLimitStore } from './rate-limits.js'
export type { IndexedDbStorage } from './storage.js'
